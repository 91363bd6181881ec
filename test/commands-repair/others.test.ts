// Watermarks, dead letters, pauses, traces and heartbeats, by the command line.

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'vitest'
import { eventsIn, fetchStatus, fileDestination, lineCount, openFolder, startProcess } from '../acceptance/stage.ts'
import type { EventLine } from '../acceptance/stage.ts'
import { tailrace } from '../command-line.ts'
import { openScene } from './stage.ts'
import type { Row } from './stage.ts'

test.concurrent(
  'a watermark is shown, moved back and forth, and begun anew; what is skipped is declared',
  { timeout: 60_000 },
  async ({ expect }) => {
    await using scene = await openScene()
    const { folder, config } = scene
    const soc = folder.file('soc')
    const rowOf = async (): Promise<Row | undefined> => (await scene.json<Row[]>('watermark', '--tenant', 'acme'))[0]
    {
      await using _daemon = startProcess(['run', '--config', config])
      await expect.poll(async () => (await rowOf())?.completeAt, { timeout: 20_000 }).toMatch(/Z$/)
      await expect.poll(async () => (await rowOf())?.holes, { timeout: 20_000 }).toBe(0)
      const set = await scene.run('watermark', 'set', '--tenant', 'acme', '--to', '30m')
      expect(set).toMatchObject({ code: 0, err: '' })
    }
    const back = await scene.run('watermark', 'set', '--tenant', 'acme', '--stream', 'attacks', '--to', '40m')
    expect(back).toMatchObject({ code: 0, err: '' })
    expect(Date.parse((await rowOf())?.watermark ?? '')).toBeLessThan(Date.now() - 2_390_000)
    // Forward loses what lies between: it takes a person, or --yes.
    const forward = ['watermark', 'set', '--tenant', 'acme', '--stream', 'attacks', '--to', '5m']
    expect(await scene.run(...forward)).toMatchObject({ code: 2, err: expect.stringContaining('--yes') })
    expect(await scene.run(...forward, '--yes')).toMatchObject({ code: 0 })
    const before = await rowOf()
    await using _daemon = startProcess(['run', '--config', config])
    const gaps = async (): Promise<unknown[]> => (await eventsIn(soc)).filter(({ kind }) => kind === 'gap')
    await expect
      .poll(gaps, { timeout: 20_000 })
      .toMatchObject([{ body: { reason: expect.stringContaining('by a person') } }])
    expect(await scene.run('watermark', 'reset', '--tenant', 'acme', '--yes')).toMatchObject({ code: 0 })
    await expect.poll(async () => (await rowOf())?.completeAt, { timeout: 20_000 }).toMatch(/Z$/)
    expect((await rowOf())?.sequence).toBeGreaterThan(before?.sequence ?? 0)
    const events = await eventsIn(soc)
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length)
  },
)

test.concurrent(
  'dead letters are listed, shown, queued again and thrown away',
  { timeout: 60_000 },
  async ({ expect }) => {
    let refusing = true
    const bodies: string[] = []
    await using receiver = await startHttpReceiver((body) => {
      if (refusing) return 400
      bodies.push(body)
      return 200
    })
    const destinations = [{ name: 'hook', sink: 'webhook', url: receiver.url, streams: ['conditions'] }]
    await using scene = await openScene({ destinations, streams: { conditions: { every: '2s' } } })
    interface Letter {
      readonly id: string
      readonly code: string
      readonly record: string
    }
    const letters = async (...more: string[]): Promise<Letter[]> =>
      scene.json<Letter[]>('dead-letters', 'list', '--limit', '500', ...more)
    {
      await using _daemon = startProcess(['run', '--config', scene.config])
      const settled = async (): Promise<number> => {
        const rows = await scene.json<{ batches: number; dead: number }[]>('backlog')
        return rows[0]?.batches === 0 ? rows[0].dead : 0
      }
      await expect.poll(settled, { timeout: 30_000 }).toBeGreaterThan(2)
    }
    const dead = await letters()
    const [one, two] = dead
    expect(one).toMatchObject({ code: expect.stringContaining('sink_refused') })
    const shown = await scene.run('dead-letters', 'show', one?.id ?? '')
    expect(shown).toMatchObject({ code: 0, out: `${one?.record}\n` })
    expect(await letters('--code', 'sink_timeout')).toEqual([])
    expect((await scene.run('dead-letters', '--destination', 'hook')).out).toContain(one?.id)

    expect(await scene.run('dead-letters', 'discard', one?.id ?? '')).toMatchObject({ code: 2 })
    expect(await letters()).toHaveLength(dead.length)
    const discarded = await scene.run('dead-letters', 'discard', one?.id ?? '', '--yes')
    expect(discarded).toMatchObject({ code: 0, out: '1 dead letters thrown away.\n' })
    refusing = false
    const requeued = await scene.run('dead-letters', 'requeue', '--destination', 'hook')
    expect(requeued).toMatchObject({ code: 0, out: `${dead.length - 1} dead letters queued again.\n` })
    expect(await letters()).toEqual([])
    await using _daemon = startProcess(['run', '--config', scene.config])
    const arrived = (): string[] => bodies.flatMap((body) => body.trimEnd().split('\n'))
    await expect.poll(arrived, { timeout: 20_000 }).toContain(two?.record)
    expect(arrived().toSorted()).toEqual(
      dead
        .slice(1)
        .map(({ record }) => record)
        .toSorted(),
    )
    expect(await scene.json('backlog')).toEqual([
      { destination: 'hook', configured: true, batches: 0, bytes: 0, dead: 0 },
    ])
  },
)

test.concurrent(
  'what is paused is neither read nor sent, by a daemon that runs or is started',
  { timeout: 60_000 },
  async ({ expect }) => {
    await using scene = await openScene()
    const { folder, config, run } = scene
    const [soc, lake] = [folder.file('soc'), folder.file('lake')]
    expect(await run('pause', '--destination', 'lake', '--reason', 'new disks')).toMatchObject({ code: 0, err: '' })
    const daemon = startProcess(['run', '--config', config])
    await using _end = daemon
    await expect.poll(() => lineCount(soc), { timeout: 20_000 }).toBeGreaterThan(300)
    expect(lineCount(lake)).toBe(0)
    const { paused } = await fetchStatus(await daemon.url())
    expect(paused).toMatchObject([{ name: 'destination:lake', reason: 'new disks' }])
    expect((await run('pause', 'list')).out).toContain('new disks')
    expect(await run('pause', '--stream', 'acme/attacks')).toMatchObject({ code: 0 })
    const names = async (): Promise<string[]> => (await fetchStatus(await daemon.url())).paused.map(({ name }) => name)
    await expect.poll(names, { timeout: 3_000 }).toContain('stream:acme/attacks')
    expect(await run('resume', '--destination', 'lake')).toMatchObject({ code: 0 })
    await expect.poll(() => lineCount(lake) - lineCount(soc), { timeout: 20_000 }).toBe(0)
    const before = lineCount(soc)
    await expect.poll(async () => (await scene.json<Row[]>('watermark'))[0]?.sequence, { timeout: 5_000 }).toBe(before)
    expect(await run('resume', '--stream', 'acme/attacks')).toMatchObject({ code: 0 })
    await expect.poll(() => lineCount(soc), { timeout: 20_000 }).toBeGreaterThan(before)
    expect(await run('pause', '--destination', 'moon')).toMatchObject({ code: 2 })
    expect(await run('pause', '--stream', 'attacks')).toMatchObject({ code: 2 })
  },
)

test.concurrent('the way of an event is told by its id and by its number', { timeout: 60_000 }, async ({ expect }) => {
  await using scene = await openScene()
  const { folder, config, run } = scene
  expect(await run('pause', '--destination', 'lake')).toMatchObject({ code: 0 })
  await using _daemon = startProcess(['run', '--config', config])
  const soc = folder.file('soc')
  await expect.poll(() => lineCount(soc), { timeout: 20_000 }).toBeGreaterThan(300)
  const [event] = (await eventsIn(soc)).filter(({ sequence }) => sequence === 120)
  interface Way {
    readonly sequence: number
    readonly readAt: number
    readonly settled: readonly { destination: string; at: number }[]
    readonly waiting: readonly string[]
  }
  const [byId] = JSON.parse((await tailrace('trace', '--config', config, '--json', '--', event?.id ?? '')).out) as Way[]
  expect(byId).toMatchObject({ sequence: 120, settled: [{ destination: 'soc' }], waiting: ['lake'] })
  expect(byId?.settled[0]?.at).toBeGreaterThanOrEqual(byId?.readAt ?? Infinity)
  expect(await scene.json('trace', 'acme/attacks#120')).toMatchObject([{ sequence: 120, waiting: ['lake'] }])
  const told = await run('trace', 'acme/attacks#120')
  expect(told.out).toMatch(
    /acme\/attacks#120: read .* \((live|backfill) .*\), in batch b.*\n.*\nsoc +confirmed .*\nlake +waiting/,
  )
  expect(await run('trace', 'acme/attacks#999999')).toMatchObject({ code: 1 })
  expect(await run('trace', 'nonsense')).toMatchObject({ code: 2 })
})

test.concurrent(
  'heartbeats come as often as was asked for, and are counted as all events are',
  { timeout: 60_000 },
  async ({ expect }) => {
    const beat = { every: '1s', heartbeat: '2s' }
    await using scene = await openScene({ streams: { attacks: { ...beat, start: '1m' }, conditions: beat } })
    const soc = scene.folder.file('soc')
    await using _daemon = startProcess(['run', '--config', scene.config])
    interface Beat extends EventLine {
      readonly observedTime: string
      readonly body: { watermark: number | null; lastSequence: number; events: number }
    }
    const beats = async (stream: string): Promise<Beat[]> =>
      ((await eventsIn(soc)) as Beat[]).filter((event) => event.kind === 'heartbeat' && event.stream === stream)
    for (const stream of ['attacks', 'conditions']) {
      await expect.poll(async () => (await beats(stream)).length, { timeout: 20_000 }).toBeGreaterThan(2)
      const [first, second, third] = await beats(stream)
      if (!first || !second || !third) throw new Error('polled for')
      for (const [one, next] of [
        [first, second],
        [second, third],
      ] as const) {
        expect(Date.parse(next.observedTime) - Date.parse(one.observedTime)).toBeGreaterThanOrEqual(2_000)
        expect(next.body.lastSequence).toBe(next.sequence - 1)
        expect(next.body.events).toBe(next.sequence - 1 - one.sequence)
      }
      expect(third.body.watermark).toBeGreaterThan(Date.now() - 60_000)
    }
    const all = (await eventsIn(soc)).filter(({ stream }) => stream === 'attacks').map(({ sequence }) => sequence)
    expect(new Set(all).size).toBe(Math.max(...all))
  },
)

test.concurrent('without a Redis that runs, the commands say so', async ({ expect }) => {
  await using folder = await openFolder()
  const tenants = { inlineTenants: [], destinations: [fileDestination('soc', folder.file('soc'))] }
  const config = await folder.write('tailrace.yaml', {
    redis: { data: folder.file('data') },
    http: { port: 0 },
    ...tenants,
  })
  const ended = await tailrace('watermark', '--config', config)
  expect(ended).toMatchObject({ code: 1, out: '' })
  expect(ended.err).toContain('Redis is not running')
  await using daemon = startProcess(['run', '--config', config])
  await daemon.url()
  expect(await tailrace('pause', 'list', '--config', config)).toMatchObject({ code: 0, out: 'Nothing is paused.\n' })
  // Told to end, it ends its Redis as well.
  daemon.signal('SIGTERM')
  expect(await daemon.ended()).toBe(0)
})

async function startHttpReceiver(
  answer: (body: string) => number,
): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk))
    request.on('end', () => response.writeHead(answer(body)).end())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
