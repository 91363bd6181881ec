// `tailrace simulate`: the security service, simulated.

import { once } from 'node:events'
import { calmWorld, nastyWorld } from '../simulator/life.ts'
import { startSimulator } from '../simulator/simulator.ts'
import type { SimulatorOptions } from '../simulator/simulator.ts'
import type { ExitCode, Terminal } from './command.ts'

export interface SimulateOptions {
  readonly port: number
  readonly seed: number
  readonly clients: readonly number[]
  readonly latency: number
  readonly attacksPerSecond: number | undefined
  readonly history: number | undefined
  readonly nasty: boolean
  readonly options: string | undefined
}

/** Runs until the signal. */
export async function simulate(given: SimulateOptions, terminal: Terminal): Promise<ExitCode> {
  const world = given.nasty ? nastyWorld : calmWorld
  // Whatever else the simulator knows, as JSON: for tests that drive it as a process.
  const more = JSON.parse(given.options ?? '{}') as SimulatorOptions
  await using simulator = await startSimulator({
    ...more,
    port: given.port,
    seed: given.seed,
    clients: given.clients,
    latencyMs: given.latency,
    world: {
      ...world,
      ...(given.attacksPerSecond === undefined ? {} : { attacksPerSecond: given.attacksPerSecond }),
      ...(given.history === undefined ? {} : { history: { attacks: given.history, spanSeconds: 86_400 } }),
      ...more.world,
    },
  })
  terminal.print(`The service, simulated: ${simulator.url}`)
  terminal.print(`Its interface, to try out: ${simulator.url}/docs`)
  for (const { uuid, secret } of simulator.credentials) terminal.print(`Credentials: uuid ${uuid} secret ${secret}`)
  if (!terminal.signal.aborted) await once(terminal.signal, 'abort')
  return 0
}
