// The commands of repair as a person uses them: on the command line, against a real Redis, with the daemon as a
// process of its own.

import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { startSimulator } from '../src/simulator/simulator.ts'
import type { Simulator } from '../src/simulator/simulator.ts'
import {
  eventsIn,
  expectAllIn,
  fetchStatus,
  fileDestination,
  lineCount,
  openFolder,
  startProcess,
  tenantOf,
} from './acceptance/stage.ts'
import type { EventLine, Folder } from './acceptance/stage.ts'
import { startRedis } from './redis.ts'
import type { TestRedis } from './redis.ts'

interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

async function tailrace(...args: string[]): Promise<Ended> {
  return await new Promise((resolve) => {
    execFile(process.execPath, ['src/main.ts', ...args], { timeout: 60_000 }, (error, out, err) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, out, err })
    })
  })
}

interface Replayed extends EventLine {
  readonly replayed: boolean
}

async function replayedIn(path: string): Promise<Replayed[]> {
  return ((await eventsIn(path)) as Replayed[]).filter(({ replayed }) => replayed)
}

interface Scene extends AsyncDisposable {
  readonly folder: Folder
  readonly redis: TestRedis
  readonly simulator: Simulator
  readonly config: string
  /** A command with this configuration. */
  run(...args: string[]): Promise<Ended>
  json<T>(...args: string[]): Promise<T>
}

async function openScene(more: { streams?: object; simulator?: object; destinations?: object[] } = {}): Promise<Scene> {
  await using stack = new AsyncDisposableStack()
  const folder = stack.use(await openFolder())
  const redis = stack.use(await startRedis('--appendonly', 'yes'))
  const history = { attacks: 600, spanSeconds: 3_000 }
  const simulator = stack.use(
    await startSimulator({ pageMax: 50, ...more.simulator, world: { attacksPerSecond: 2, history } }),
  )
  const streams = more.streams ?? { attacks: { every: '1s', overlap: '1m', start: '1h', pageSize: 50 } }
  const files = [fileDestination('soc', folder.file('soc')), fileDestination('lake', folder.file('lake'))]
  const config = await folder.write('tailrace.yaml', {
    redis: { url: redis.url },
    http: { port: 0 },
    destinations: more.destinations ?? files,
    inlineTenants: [tenantOf(simulator, { name: 'acme', client: 4711, streams })],
  })
  const run = async (...args: string[]): Promise<Ended> => tailrace(...args, '--config', config)
  const open = stack.move()
  return {
    folder,
    redis,
    simulator,
    config,
    run,
    json: async <T>(...args: string[]) => JSON.parse((await run(...args, '--json')).out) as T,
    [Symbol.asyncDispose]: async () => open.disposeAsync(),
  }
}

interface Row {
  readonly watermark: string
  readonly completeAt: string
  readonly sequence: number
  readonly holes: number
}

test(
  'a back-fill that is killed over and over is delivered to the named destination, and nothing is taken from the rest',
  { timeout: 120_000 },
  async () => {
    await using scene = await openScene()
    const { folder, simulator, config } = scene
    const [soc, lake] = [folder.file('soc'), folder.file('lake')]
    const marks: string[] = []
    {
      await using _daemon = startProcess(['run', '--config', config])
      await expectAllIn(soc, simulator, { client: 4711 })
      await expect.poll(async () => (await scene.json<Row[]>('watermark'))[0]?.holes, { timeout: 30_000 }).toBe(0)
    }
    const asked = await scene.run('backfill', '--tenant', 'acme', '--from', '2h', '--destination', 'lake')
    expect(asked).toMatchObject({ code: 0, err: '' })
    const [id = ''] = /^r[0-9a-f]{12}/.exec(asked.out) ?? []
    for (let kills = 0; kills < 3; kills++) {
      await using daemon = startProcess(['run', '--config', config])
      const before = (await replayedIn(lake)).length
      await expect
        .poll(async () => (await replayedIn(lake)).length, { timeout: 20_000, interval: 20 })
        .toBeGreaterThan(before)
      daemon.signal('SIGKILL')
      await daemon.ended()
      marks.push((await scene.json<Row[]>('watermark'))[0]?.watermark ?? '')
    }
    await using _daemon = startProcess(['run', '--config', config])
    const done = async (): Promise<unknown> => scene.json('backfill', 'list')
    await expect.poll(done, { timeout: 40_000 }).toMatchObject([{ id, state: 'done', destinations: ['lake'] }])
    simulator.freeze()
    await expectAllIn(soc, simulator, { client: 4711 })
    await expectAllIn(lake, simulator, { client: 4711 })
    expect(marks).toEqual(marks.toSorted())

    // What a killed daemon had in hand is taken up by the next one after a while.
    const first = async (): Promise<EventLine[]> => eventsIn(soc)
    const missing = async (): Promise<unknown[]> => {
      const identities = new Set((await replayedIn(lake)).map((event) => event.identity))
      return (await first()).filter(({ sequence, identity }) => sequence <= 500 && !identities.has(identity))
    }
    await expect.poll(missing, { timeout: 40_000, interval: 500 }).toEqual([])
    // Every version that was the latest when it was read again, with the id that it had.
    const strange = async (): Promise<unknown[]> => {
      const ids = new Set((await first()).map((event) => event.id))
      return (await replayedIn(lake)).filter((event) => !ids.has(event.id))
    }
    await expect.poll(strange, { timeout: 40_000, interval: 500 }).toEqual([])
    expect(await replayedIn(soc)).toEqual([])
    // Nobody sees a hole: what is delivered again has no number of its own.
    for (const file of [soc, lake]) {
      const holes = async (): Promise<number> => {
        const sequences = new Set((await eventsIn(file)).map(({ sequence }) => sequence))
        return Math.max(...sequences) - sequences.size
      }
      await expect.poll(holes, { timeout: 40_000, interval: 500 }).toBe(0)
    }
  },
)

test(
  'a whole inventory is delivered again; what makes no sense is refused with words',
  { timeout: 60_000 },
  async () => {
    const streams = {
      attacks: { every: '1s', start: '1m' },
      conditions: { every: '1s' },
      rules: { every: '1s', reconcileEvery: '10m' },
    }
    await using scene = await openScene({ streams })
    const { folder, config } = scene
    const lake = folder.file('lake')
    await using _daemon = startProcess(['run', '--config', config])
    const read = async (): Promise<string[]> =>
      [...new Set((await eventsIn(lake)).map(({ stream }) => stream))].toSorted()
    await expect.poll(read, { timeout: 20_000 }).toEqual(['attacks', 'conditions', 'rules'])
    const asked = await scene.run('backfill', '--tenant', 'acme', '--destination', 'lake', '--wait')
    expect(asked).toMatchObject({ code: 0 })
    expect(asked.out).toMatch(/acme\/conditions: done, \d+ events\nacme\/rules: done, \d+ events/)
    const again = async (): Promise<string[]> =>
      [...new Set((await replayedIn(lake)).map(({ stream }) => stream))].toSorted()
    await expect.poll(again, { timeout: 20_000 }).toEqual(['conditions', 'rules'])

    const refused = async (...args: string[]): Promise<string> => {
      const { code, err } = await scene.run(...args)
      expect(code).toBe(2)
      return err
    }
    expect(await refused('backfill', '--tenant', 'acme', '--stream', 'rules', '--from', '1h')).toContain('as a whole')
    expect(await refused('backfill', '--tenant', 'acme', '--stream', 'attacks')).toContain('--from')
    expect(await refused('backfill', '--tenant', 'acme', '--from', 'noon')).toContain('ISO 8601')
    expect(await refused('backfill', '--tenant', 'acme', '--from', '1h', '--destination', 'moon')).toContain(
      'soc, lake',
    )
    expect(await refused('backfill', '--tenant', 'amce', '--from', '1h')).toContain('Tenants: acme')
    expect(await refused('backfill', 'stop', 'r0')).toContain('backfill list')
  },
)

test(
  'a watermark is shown, moved back and forth, and begun anew; what is skipped is declared',
  { timeout: 60_000 },
  async () => {
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

test('dead letters are listed, shown, queued again and thrown away', { timeout: 60_000 }, async () => {
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
})

test('what is paused is neither read nor sent, by a daemon that runs or is started', { timeout: 60_000 }, async () => {
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
})

test('the way of an event is told by its id and by its number', { timeout: 60_000 }, async () => {
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

test('heartbeats come as often as was asked for, and are counted as all events are', { timeout: 60_000 }, async () => {
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
})

test('without a Redis that runs, the commands say so', async () => {
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
