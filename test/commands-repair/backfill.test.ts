// Back-fills, by the command line.

import { expect, test } from 'vitest'
import { eventsIn, expectAllIn, startProcess } from '../acceptance/stage.ts'
import type { EventLine } from '../acceptance/stage.ts'
import { replayedIn, openScene } from './stage.ts'
import type { Row } from './stage.ts'

test(
  'a back-fill that is killed over and over is delivered to the named destination, and nothing is taken from the rest',
  { timeout: 240_000 },
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
    await expect.poll(done, { timeout: 90_000 }).toMatchObject([{ id, state: 'done', destinations: ['lake'] }])
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
    await expect.poll(missing, { timeout: 90_000, interval: 500 }).toEqual([])
    // Every version that was the latest when it was read again, with the id that it had.
    const strange = async (): Promise<unknown[]> => {
      const ids = new Set((await first()).map((event) => event.id))
      return (await replayedIn(lake)).filter((event) => !ids.has(event.id))
    }
    await expect.poll(strange, { timeout: 90_000, interval: 500 }).toEqual([])
    expect(await replayedIn(soc)).toEqual([])
    // Nobody sees a hole: what is delivered again has no number of its own.
    for (const file of [soc, lake]) {
      const holes = async (): Promise<number> => {
        const sequences = new Set((await eventsIn(file)).map(({ sequence }) => sequence))
        return Math.max(...sequences) - sequences.size
      }
      await expect.poll(holes, { timeout: 90_000, interval: 500 }).toBe(0)
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
