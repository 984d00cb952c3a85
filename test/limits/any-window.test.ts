/** Four processes against one Redis: what the limiter admitted, by its own times, in the fullest window there is. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { type RedisServer, startRedis } from '../redis.ts'
import { fullestWindow } from './any-window.ts'
import { ALLOW, type Outcome, WINDOW_MS } from './edge-client.ts'

const PROCESSES = 4

describe('a window that four processes share', () => {
  let redis: RedisServer
  let sliding: readonly Outcome[]
  let fixed: readonly Outcome[]

  before(async () => {
    redis = await startRedis()
    sliding = await askFromProcesses(redis, 'sliding')
    fixed = await askFromProcesses(redis, 'fixed')
  })

  after(() => redis.stop())

  it('never admits more than allow, wherever it begins', () => {
    expect(fullestWindow(admissionTimes(sliding), WINDOW_MS * 1000)).to.equal(ALLOW)
  })

  it('is scanned by honest times: each between question and answer', () => {
    expect(sliding).to.have.length.greaterThan(PROCESSES * ALLOW)
    for (const { askedMicros, atMicros, answeredMicros } of sliding) {
      expect(atMicros).to.be.within(askedMicros, answeredMicros)
    }
  })

  it('is overrun by a fixed window, which the scan finds', () => {
    expect(fullestWindow(admissionTimes(fixed), WINDOW_MS * 1000)).to.be.greaterThan(ALLOW)
  })
})

async function askFromProcesses({ url }: RedisServer, kind: 'sliding' | 'fixed'): Promise<Outcome[]> {
  const script = fileURLToPath(new URL('edge-client.ts', import.meta.url))
  const clients = Array.from({ length: PROCESSES }, () => fork(script, [url, kind, `edge-${kind}`]))
  await Promise.all(clients.map((client) => once(client, 'message')))
  const begin = Date.now() + 50
  const answers = clients.map(async (client) => {
    client.send(begin)
    const [outcomes] = await once(client, 'message')
    return outcomes as Outcome[]
  })
  return (await Promise.all(answers)).flat()
}

function admissionTimes(outcomes: readonly Outcome[]): number[] {
  return outcomes.filter(({ admitted }) => admitted).map(({ atMicros }) => atMicros)
}
