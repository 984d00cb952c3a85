/** Ends in a diff: an allow that lives longer widens, a deny that ends earlier too, also when nothing else changes. */
import { expect } from 'chai'
import fc from 'fast-check'
import { compareDecisions } from '../../../src/analysis/diff/compare-decisions.ts'
import { fails, type PolicyDiff } from '../../../src/analysis/diff/compare-policies.ts'
import { parsePolicy } from '../../../src/policy/parse/parse-policy.ts'
import { DIFF_FORMATS } from '../../../src/tools/diff/formats.ts'
import { endingPolicy, randomTime, type WrittenPolicy } from '../../policy/arbitrary-policy.ts'
import { RESOURCES } from '../../policy/fixture.ts'
import { runs } from '../../runs.ts'
import { policyDiff } from './command.ts'
import { POLICIES, reportOnEdits } from './shipped.ts'

const { text: diffText, json: diffJson } = DIFF_FORMATS

const CAROL = 'p, user:carol, accounts, read, any, *, allow'
const DENY = 'p, admin, accounts, update, any, *, deny'

/** The lines of the text that tell a change. */
function told(before: string, after: string, now = 0): readonly string[] {
  return linesOf(report(before, after, now))
}

function report(before: string, after: string, now = 0): PolicyDiff {
  return reportOnEdits({ 'policy.csv': [['', after]] }, { 'policy.csv': [['', before]] }, now)
}

function linesOf(of: PolicyDiff): readonly string[] {
  return diffText(of)
    .split('\n')
    .filter((line) => /^ {2}[+?=-]/.test(line))
    .map((line) => line.trim())
}

const until = (year: number) => `, until=${year}-01-01T00:00:00Z`

describe('an end in a policy diff', () => {
  it('that comes later, or goes, widens for an allow', () => {
    expect(told(CAROL + until(2031), CAROL + until(2032))).to.deep.equal([
      '+ user:carol gains read on accounts (any), from 2031-01-01T00:00:00Z until 2032-01-01T00:00:00Z',
    ])
    expect(told(CAROL + until(2031), CAROL)).to.deep.equal([
      '+ user:carol gains read on accounts (any), from 2031-01-01T00:00:00Z on',
    ])
  })

  it('that comes earlier, or is new, narrows for an allow', () => {
    expect(told(CAROL + until(2032), CAROL + until(2031))).to.deep.equal([
      '- user:carol loses read on accounts (any), from 2031-01-01T00:00:00Z until 2032-01-01T00:00:00Z',
    ])
    expect(told(CAROL, CAROL + until(2031))).to.deep.equal([
      '- user:carol loses read on accounts (any), from 2031-01-01T00:00:00Z on',
    ])
  })

  it('that comes earlier widens for a deny, and one that comes later narrows', () => {
    const [sooner, later] = [DENY + until(2031), DENY + until(2032)]
    const when = 'update on accounts (any), from 2031-01-01T00:00:00Z until 2032-01-01T00:00:00Z'
    expect(told(later, sooner)).to.deep.equal([`+ admin gains ${when}`])
    expect(told(sooner, later)).to.deep.equal([`- admin loses ${when}`])
    expect(fails(report(later, sooner), 'widening')).to.equal(true)
    expect(fails(report(sooner, later), 'widening')).to.equal(false)
  })

  it('of a new rule is told with what the rule brings', () => {
    expect(told('# nothing', CAROL + until(2031))).to.deep.equal([
      '+ user:carol gains read on accounts (any), until 2031-01-01T00:00:00Z',
    ])
  })

  it('brings to light what lies under a deny until then', () => {
    const deny = `p, everyone, accounts, read, any, *, deny${until(2031)}`
    expect(told(deny, `${deny}\n${CAROL}`)).to.deep.equal([
      '+ user:carol gains read on accounts (any), from 2031-01-01T00:00:00Z on',
    ])
  })

  it('that makes no difference is none: past, or beside a rule that says the same for longer', () => {
    expect(told(CAROL + until(2031), CAROL + until(2032), Date.UTC(2033))).to.deep.equal([])
    expect(told(`${CAROL}\n${CAROL}${until(2031)}`, CAROL)).to.deep.equal([])
    expect(told(CAROL + until(2031), '# nothing', Date.UTC(2031))).to.deep.equal([])
    expect(told(CAROL + until(2031), '# nothing', Date.UTC(2031) - 1)).to.have.length(1)
  })

  it('is in the JSON', () => {
    const { changes } = JSON.parse(diffJson(report(CAROL + until(2031), CAROL + until(2032))))
    expect(changes).to.have.length(1)
    expect(changes[0]).to.include({
      from: '2031-01-01T00:00:00Z',
      until: '2032-01-01T00:00:00Z',
      direction: 'widening',
    })
  })

  it('is told the same from a later moment on, whether an earlier one was asked about or not', () => {
    const pairs = fc.tuple(endingPolicy, endingPolicy, randomTime)
    const told = ({ files }: WrittenPolicy) => parsePolicy(files, RESOURCES)
    const property = fc.property(pairs, ([one, other, now]) => {
      const fresh = compareDecisions({ before: told(one), after: told(other) }, { resources: RESOURCES, now })
      const again = { before: told(one), after: told(other) }
      compareDecisions(again, { resources: RESOURCES, now: 0 })
      expect(compareDecisions(again, { resources: RESOURCES, now })).to.deep.equal(fresh)
      compareDecisions({ ...again, before: again.after }, { resources: RESOURCES, now: 0 })
      expect(compareDecisions(again, { resources: RESOURCES, now })).to.deep.equal(fresh)
    })
    fc.assert(property, { numRuns: runs(200) })
  })

  it('is looked at from the time that --at says', async () => {
    for (const at of ['2031-01-01T00:00:00Z', '2031-01-01']) {
      const { stdout, exitCode } = await policyDiff(POLICIES, POLICIES, '--at', at)
      expect([stdout.includes('equivalent'), exitCode]).to.deep.equal([true, 0])
    }
    const { error } = await policyDiff(POLICIES, POLICIES, '--at', '2031-02-29')
    expect(String(error)).to.contain("--at: `2031-02-29` names a day that doesn't exist")
  })
})
