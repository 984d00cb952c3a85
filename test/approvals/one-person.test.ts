/** What one person with a key, who also writes to the database, can't do: hold up the changes of others. */
import { expect } from 'chai'
import { judgeApproved } from '../../src/analysis/approvals/judge.ts'
import { readPolicyKeys } from '../../src/identity/keys/policy-keys.ts'
import { type Approval, signApproval } from '../../src/policy/published/proposal.ts'
import { digestOfText } from '../../src/policy/published/signed-version.ts'
import { loadResources } from '../../src/resources/load/load-resources.ts'
import { LONGEST_SIGNED, type PolicyVersions } from '../../src/store/policy-versions.ts'
import { propose, readBase } from '../../src/tools/approvals/proposals.ts'
import { sequenceOf } from '../published/fixture.ts'
import { until } from '../until.ts'
import { ApprovedPolicies, type Name } from './people.ts'

const WIDER = 'p, anonymous, notes, list, any, *, allow\n'
const uncheckedBecause = 'the published policy grants more than the folder of the checker'
const HOUR = 60 * 60 * 1000

describe('one person with a key who writes to the database', function () {
  this.timeout(180_000)
  let approved: ApprovedPolicies
  beforeEach(async () => {
    approved = await ApprovedPolicies.make()
  })
  afterEach(() => approved.remove())

  const within = <T>(work: (versions: PolicyVersions) => Promise<T>) =>
    approved.published.within(approved.published.versions(), work)
  const proposed = async () => approved.as('ada', 'propose', await approved.folderWith('next', WIDER), '--title', 't')
  const sign = async (proposal: string, name: Name, said: Partial<Approval>) => {
    const approval = { of: digestOfText(proposal), says: 'approved' as const, time: new Date().toISOString(), ...said }
    return signApproval(approval, approved.people[name])
  }

  it("can't make a version that is too long to be read", async () => {
    const server = await approved.published.start({}, { uncheckedBecause })
    await proposed()
    const long = await approved.as('kim', 'approve', '1', '--reason', 'x'.repeat(LONGEST_SIGNED / 10))
    expect(long.stderr).to.contain('the reason is too long: shorten it')
    await within(async (versions) => {
      const [{ signed } = { signed: '' }] = await versions.proposalsAfter(0)
      for (const name of ['kim', 'zoe', 'tim'] as const) {
        for (const letter of ['a', 'b']) {
          const reason = letter.repeat(LONGEST_SIGNED / 4)
          expect(await versions.addSignature(1, await sign(signed, name, { reason }))).to.equal(true)
        }
      }
    })
    await within(async (versions) => {
      const [{ signed } = { signed: '' }] = await versions.proposalsAfter(0)
      for (const name of ['zoe', 'tim'] as const) await versions.addSignature(1, await sign(signed, name, {}))
    })
    expect((await approved.run('publish', '1')).stdout).to.contain('is version 2')
    await until(async () => (await sequenceOf(server)) === 2)
    expect(server.app.policy.faults).to.deep.equal([])
  })

  it("can't spoil a proposal with an approval from after its end", async () => {
    await proposed()
    for (const name of ['zoe', 'tim'] as const) await approved.as(name, 'approve', '1')
    await within(async (versions) => {
      const [{ signed } = { signed: '' }] = await versions.proposalsAfter(0)
      await versions.addSignature(1, await sign(signed, 'kim', { time: '2999-01-01T00:00:00.000Z' }))
    })
    expect((await approved.run('publish', '1')).stdout).to.contain('is version 2')
  })

  it("can't hold up the scheduled changes of others with faulty files, and those are told of", async () => {
    const from = Date.now() + 1000
    await within(async (versions) => {
      const resources = await loadResources(new URL('../../schemas', import.meta.url).pathname)
      const keys = await readPolicyKeys(approved.published.publicKey())
      const judge = async (change: Parameters<typeof judgeApproved>[0]) => judgeApproved(change, resources)
      const base = await readBase({ versions, keys, judge, now: Date.now }, resources)
      const about = {
        title: 't',
        time: Date.now(),
        notBefore: from,
        expires: from + HOUR,
        blocked: base.policy.blockedFile.text,
      }
      const content = await approved.published.contentWith('p, nobody-declared-it, notes, list, any, *, allow\n')
      await propose(versions, base, { ...about, content }, approved.people.kim)
      await propose(versions, base, { ...about, content: new Map() }, approved.people.kim)
    })
    const folder = await approved.folderWith('next', WIDER)
    const later = new Date(Date.now() + 2000).toISOString()
    await approved.as('ada', 'propose', folder, '--title', 't', '--not-before', later)
    for (const name of ['zoe', 'tim'] as const) await approved.as(name, 'approve', '3')
    const server = await approved.published.start({}, { uncheckedBecause })
    await until(async () => (await sequenceOf(server)) === 2)
    const told = server.log.filter(({ msg }) => String(msg).includes('which was to be in force at'))
    expect(told.map(({ proposal }) => proposal)).to.include.members([1, 2])
    expect(String(told[0]?.msg)).to.contain("it can't be published: ").and.to.contain('nobody-declared-it')
  })
})
