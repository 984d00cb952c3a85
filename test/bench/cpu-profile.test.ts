/** Time in a profile is told by the stage that it was spent in or for. */
import { expect } from 'chai'
import { type CpuProfile, shareOfStages } from '../../bench/machine/cpu-profile.ts'

const node = (id: number, functionName: string, url = '', children: readonly number[] = []) => ({
  id,
  callFrame: { functionName, url },
  children,
})

/** A sample each in: idle, authorize, JSON.parse called by the store, koa, Node's http, the collector. */
const PROFILE: CpuProfile = {
  nodes: [
    node(1, '(root)', '', [2, 3, 5, 7, 8]),
    node(2, '(idle)'),
    node(3, 'authorize', 'file:///x/src/server/stages/authorize.ts', [4]),
    node(4, 'get', 'file:///x/src/store/sqlite.ts', [6]),
    node(5, 'respond', 'file:///x/node_modules/koa/lib/application.js'),
    node(6, 'parse'),
    node(7, 'end', 'node:_http_outgoing'),
    node(8, '(garbage collector)'),
  ],
  samples: [2, 3, 6, 5, 7, 8],
  timeDeltas: [100, 10, 20, 30, 20, 20],
  startTime: 1000,
}

describe('the budget of the bench', () => {
  it('tells shares of the time that was not idle, by stage', () => {
    expect(Object.fromEntries(shareOfStages(PROFILE, { from: 0, to: 9999 }))).to.deep.equal({
      'server/stages/authorize': 0.1,
      store: 0.2,
      koa: 0.3,
      'node:http and streams': 0.2,
      'garbage collection': 0.2,
    })
  })

  it('tells of the samples in the span alone', () => {
    expect(Object.fromEntries(shareOfStages(PROFILE, { from: 1100, to: 1130 }))).to.deep.equal({
      'server/stages/authorize': 10 / 30,
      store: 20 / 30,
    })
  })
})
