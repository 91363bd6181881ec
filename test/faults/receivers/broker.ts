// A Kafka broker that is cut off: its log, in the memory of kcat, is what it has stored; connections and port die.

import { setTimeout as delay } from 'node:timers/promises'
import { startKafka } from '../../ship/kafka-broker.ts'
import { gather, patienceMs, sometime, type EventLine, type FrailReceiver } from './frail.ts'

const produceKey = 0

export async function startBroker(): Promise<FrailReceiver> {
  const topic = 'waf'
  const broker = await startKafka(topic)
  const { state, requests } = broker
  const until = async (come: () => boolean): Promise<void> => {
    const end = Date.now() + patienceMs
    while (!come() && Date.now() < end) await delay(1)
  }
  return {
    destination: { sink: 'kafka', brokers: broker.address, topic, timeout: '5s' },
    knowsConfirmations: false,
    async kill(moment) {
      const before = requests.length
      const produced = (): boolean => requests.slice(before).some(({ key }) => key === produceKey)
      if (moment === 'taken') state.mode = 'break'
      // It goes back to `pass` once an answer is lost.
      if (moment === 'stored') state.mode = 'lose'
      if (moment === 'stored') await until(() => state.mode === 'pass')
      else if (moment !== 'any') await until(produced)
      await broker.stop()
      state.mode = 'pass'
    },
    start: () => broker.start(),
    arrived: async () => gather(broker.consumed.map(({ payload }) => [JSON.parse(payload) as EventLine, sometime])),
    [Symbol.asyncDispose]: () => broker[Symbol.asyncDispose](),
  }
}
