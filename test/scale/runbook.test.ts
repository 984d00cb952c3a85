/** The runbook tells of each fault that the suite makes, and of no other one. */
import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { FAULTS } from './faults.ts'

const RUNBOOK = new URL('../../docs/instances.md', import.meta.url)
const ROW = /^\| ([^|]+) \| \d+\.\d s \| \d+\.\d s \|$/gm

describe('the runbook', () => {
  it('states for each fault of the scale tests how long refusals and the lag of the policy lasted', () => {
    const rows = [...readFileSync(RUNBOOK, 'utf8').matchAll(ROW)].map(([, fault]) => fault)
    expect(rows).to.deep.equal(FAULTS)
  })
})
