/** A number stands for one version, although the right people have approved two of that number. */
import { expect } from 'chai'
import { judgeHere } from '../../src/analysis/approvals/judge-here.ts'
import { readPolicyKeys } from '../../src/identity/keys/policy-keys.ts'
import { PublishedSource } from '../../src/policy/published/published-source.ts'
import type { PolicyVersions } from '../../src/store/policy-versions.ts'
import { sequenceOf } from '../published/fixture.ts'
import { until } from '../until.ts'
import { ApprovedPolicies } from './people.ts'

const SCHEMAS = new URL('../../schemas', import.meta.url).pathname

describe('two approved versions of one number', () => {
  let approved: ApprovedPolicies
  beforeEach(async () => {
    approved = await ApprovedPolicies.make()
  })
  afterEach(() => approved.remove())

  const proposed = async (name: string) => {
    await approved.as('ada', 'propose', await approved.folderWith(name, `# ${name}\n`), '--title', name)
  }
  const published = async (proposal: string) => {
    await approved.as('zoe', 'approve', proposal)
    const { stdout, stderr } = await approved.run('publish', proposal)
    expect(stderr).to.equal('')
    expect(stdout).to.contain(`Proposal ${proposal} is version`)
  }
  const sourceOf = async (versions: PolicyVersions) => {
    const keys = await readPolicyKeys(approved.published.publicKey())
    return new PublishedSource(versions, { keys, judge: judgeHere(SCHEMAS), now: Date.now })
  }

  it('are not followed by an instance that had one of them, nor is a version on top of the other one', async () => {
    for (const name of ['one', 'other']) await proposed(name)
    await published('1')
    await approved.published.within(approved.published.versions(), async (versions) => {
      const source = await sourceOf(versions)
      await source.look()
      expect(source.known?.number).to.equal(2)
      approved.published.tamper('delete from policy_versions where number = 2')
      await published('2')
      await proposed('later')
      await published('3')
      await source.look()
      expect((await source.read()).refusal?.message).to.contain('version 2 is another one than this instance had')
      expect(source.known?.number).to.equal(2)
      const unbiased = await sourceOf(versions)
      await unbiased.look()
      expect(unbiased.known?.number, 'an instance without a past takes it').to.equal(3)
    })
  })

  it('are not published while an instance has a version that the database has lost', async () => {
    const server = await approved.published.start()
    for (const name of ['one', 'other']) await proposed(name)
    await published('1')
    await until(async () => (await sequenceOf(server)) === 2)
    await until(async () => (await approved.run('status')).stdout.includes('current'))
    approved.published.tamper('delete from policy_versions where number = 2')
    await approved.as('zoe', 'approve', '2')
    const { code, stderr } = await approved.run('publish', '2')
    expect(code).to.equal(2)
    expect(stderr).to.contain('has version 2, but the last one in the database is 1, so nothing was done')
  })
})
