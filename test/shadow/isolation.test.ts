/** Whatever the candidate's thread does, whoever shows it records goes on at once. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type { DecisionRecord } from '../../src/decision-log/decision-record.ts'
import { type Shadow, type ShadowEvent, startShadow } from '../../src/server/shadow/shadow.ts'
import { until } from '../until.ts'

const PLACE = { directory: 'policies', schemas: 'schemas' }

const RECORD: DecisionRecord = {
  time: '2026-01-01T00:00:00.000Z',
  requestId: 'r',
  revision: '0000000000000000',
  method: 'GET',
  outcome: 'allowed',
  status: 200,
  microseconds: 1,
}

const here = (name: string) => new URL(name, import.meta.url)

describe('the thread of a candidate policy', () => {
  let shadow: Shadow
  let events: ShadowEvent[]
  beforeEach(() => {
    events = []
  })
  afterEach(() => shadow.close())

  const start = (program: string) => {
    shadow = startShadow(PLACE, (event) => events.push(event), here(program))
  }
  const count = (kind: ShadowEvent['kind']) => events.filter((event) => event.kind === kind).length
  const untilSaid = (kind: ShadowEvent['kind']) => until(() => count(kind) > 0)

  it('that takes 50 ms for a decision holds nobody up', async () => {
    start('slow-thread.ts')
    const began = performance.now()
    for (let i = 0; i < 400; i++) {
      shadow.observe(RECORD)
      if (i % 20 === 0) await sleep(1)
    }
    // On this thread it would have been 20 seconds.
    expect(performance.now() - began).to.be.lessThan(5000)
    await untilSaid('compared')
  })

  it('that is slow for long lets records go, and says how many', async () => {
    start('slow-thread.ts')
    for (let i = 0; i < 10_500; i++) shadow.observe(RECORD)
    expect(count('dropped')).to.equal(500)
  })

  it('that fails is told, once, and holds nobody up', async () => {
    start('failing-thread.ts')
    shadow.observe(RECORD)
    await untilSaid('stopped')
    for (let i = 0; i < 10; i++) shadow.observe(RECORD)
    await sleep(20)
    expect(count('stopped')).to.equal(1)
    expect(shadow.state().status).to.equal('degraded')
    expect(events.find((event) => event.kind === 'stopped')).to.have.nested.property(
      'cause.message',
      'the candidate fails',
    )
  })
})
