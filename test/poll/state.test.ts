import { expect, test } from 'vitest'
import { parseState } from '../../src/poll/state.ts'

test('a state of a newer form is refused, rather than misread', () => {
  expect(parseState('')).toMatchObject({ v: 1, watermark: null })
  expect(parseState('{"v":1,"sequence":7}')).toMatchObject({ v: 1, sequence: 7, holes: [] })
  expect(() => parseState('{"v":2,"sequence":7}')).toThrow(expect.objectContaining({ code: 'state_newer' }))
})
