import { expect, test } from 'vitest'
import { resolveBaseUrl } from '../../src/service/instances.ts'

const table = { eu: 'https://eu.example.org/', ru: '', local: 'http://127.0.0.1:8080/api//' }

test('resolves an instance to its base URL without a trailing slash', () => {
  expect(resolveBaseUrl('eu', table)).toBe('https://eu.example.org')
  expect(resolveBaseUrl('local', table)).toBe('http://127.0.0.1:8080/api')
})

test.for([
  { instance: 'ru', says: 'set service.instances.ru' },
  { instance: 'us', says: 'known: eu, local' },
  { instance: 'constructor', says: 'has no address' },
])('$instance has no address', ({ instance, says }) => {
  const resolve = (): string => resolveBaseUrl(instance, table)
  expect(resolve).toThrow(expect.objectContaining({ code: 'config_invalid' }))
  expect(resolve).toThrow(says)
})

test('an unusable URL is named by its key, and not repeated', () => {
  const resolve = (): string => resolveBaseUrl('eu', { eu: 'https://me:pw@example.org' })
  expect(resolve).toThrow('service.instances.eu must not hold credentials')
})
