/** Proposals that no command makes, signed by a person who writes to the database: nobody who looks at one comes to harm. */
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { judgeApproved } from '../../src/analysis/approvals/judge.ts'
import { readPolicyKeys } from '../../src/identity/keys/policy-keys.ts'
import {
  claimedProposal,
  type PolicyProposal,
  signApproval,
  signProposal,
} from '../../src/policy/published/proposal.ts'
import { digestOfText } from '../../src/policy/published/signed-version.ts'
import { loadResources } from '../../src/resources/load/load-resources.ts'
import { propose, readBase } from '../../src/tools/approvals/proposals.ts'
import { describedFiles } from '../../src/tools/release/content.ts'
import { withTemporaryFiles } from '../../src/tools/temporary-files.ts'
import { holds } from '../output-shapes.ts'
import { failure } from '../store/fixture.ts'
import { ApprovedPolicies } from './people.ts'

const BROKEN = `- name: guests list no users
  never: { subjects: [anonymous], resource: users, actions: [list] }
`
const WIDER = 'p, support, notes, read, any, *, allow\n'

describe('proposals that no command makes', () => {
  let approved: ApprovedPolicies
  beforeEach(async () => {
    approved = await ApprovedPolicies.make()
    await approved.as('ada', 'propose', await approved.folderWith('next', WIDER), '--title', 't')
  })
  afterEach(() => approved.remove())

  /** Proposal 2 is like proposal 1, but for these parts. */
  const proposeOdd = (change: (usual: PolicyProposal) => object, texts: readonly string[] = []) =>
    approved.published.within(approved.published.versions(), async (versions) => {
      const [{ signed } = { signed: '' }] = await versions.proposalsAfter(0)
      const usual = claimedProposal(signed)
      if (!usual) throw new Error('the usual proposal can be read')
      const odd = { ...usual, proposal: 2, ...change(usual) } as PolicyProposal
      const files = new Map(texts.map((text) => [digestOfText(text), text]))
      expect(
        await versions.propose({ number: 2, signed: await signProposal(odd, approved.people.kim), files }),
      ).to.equal(true)
    })
  const none = join('..', '..', '..', 'nowhere')

  it('write no file outside of their folder, whatever names their files have', async () => {
    const text = 'written by a proposal'
    const escaped = ['sallyport-escaped-a', 'sallyport-escaped-b', 'sallyport-escaped-c']
    const [first = '', second = '', third = ''] = escaped
    const names = [`../${first}`, `/${join(tmpdir(), second)}`, `sub/../../${third}`, '__proto__', 'extra.yaml']
    await proposeOdd(
      ({ files }) => ({
        files: Object.fromEntries([...Object.entries(files), ...names.map((name) => [name, digestOfText(text)])]),
      }),
      [text],
    )
    const folder = join(approved.published.root, 'out')
    await mkdir(join(approved.published.root, 'sub'))
    const reviewed = await approved.run('review', '2', '--matrices', none)
    expect([reviewed.code, reviewed.stdout.includes('which no policy has')], reviewed.stderr).to.deep.equal([1, true])
    const exported = await approved.run('export', folder, '--proposal', '2')
    expect([exported.code, exported.stderr.includes('which no policy has')]).to.deep.equal([2, true])
    for (const name of escaped) {
      for (const place of [tmpdir(), approved.published.root, '/tmp', '/dev/shm']) {
        expect(existsSync(join(place, name)), join(place, name)).to.equal(false)
      }
    }
    const writing = withTemporaryFiles([[`../${first}`, text]], async () => undefined)
    expect(String(await failure(writing))).to.contain('would be written outside of its folder')
    expect((await approved.as('zoe', 'approve', '2')).code).to.equal(2)
    expect((await approved.as('zoe', 'reject', '2', '--reason', 'odd files')).code).to.equal(0)
  })

  it('show their findings where a server would refuse their files', async () => {
    const content = await approved.published.contentWith('p, nobody-declared-it, notes, list, any, *, allow\n')
    const { described, texts } = describedFiles(content, '')
    await proposeOdd(() => described, [...texts.values()])
    const { code, stdout, stderr } = await approved.run('review', '2', '--matrices', none)
    expect([code, stderr]).to.deep.equal([1, ''])
    expect(stdout).to.match(/^Proposal 2 by `kim`/)
    expect(stdout).to.match(/^proposal-2\/policy\.csv:\d+:4: error: the role `nobody-declared-it` is not declared/m)
    expect(stdout).to.contain('Nothing else was run: no server takes these files.\n')
    const { stdout: json } = await approved.run('review', '2', '--format', 'json')
    await holds('policy-review', json)
    expect(JSON.parse(json).replay).to.deep.equal({ notRun: 'no server takes these files' })
    expect((await approved.as('zoe', 'approve', '2')).stderr).to.contain('nobody-declared-it')
  })

  it('tell of a guarantee that does not hold, and name nothing of the reviewer', async () => {
    const content = new Map(await approved.published.contentWith('p, anonymous, users, list, any, *, allow\n'))
    const guarantees = String(Buffer.from(content.get('guarantees.yaml') ?? []))
    content.set('guarantees.yaml', Buffer.from(`${guarantees}\n${BROKEN}`))
    const { described, texts } = describedFiles(content, '')
    await proposeOdd(() => described, [...texts.values()])
    const { code, stdout, stderr } = await approved.run('review', '2', '--matrices', none)
    expect([code, stderr]).to.deep.equal([1, ''])
    expect(stdout).to.match(/^proposal-2\/policy\.csv:\d+:1: error: this breaks the guarantee `guests list no users`/m)
    expect(stdout).to.contain('policy explain --policies proposal-2 GET /api/users')
    expect(stdout).to.contain('Guarantees: 2 proven; 1 broken: guests list no users.\n')
    expect(stdout).to.not.contain('sallyport-files')
    const { stdout: json } = await approved.run('review', '2', '--format', 'json')
    await holds('policy-review', json)
    expect(json).to.contain('guests list no users').and.to.not.contain('sallyport-files')
  })

  it('are not stored where another version was published while they were made', async () => {
    await approved.published.within(approved.published.versions(), async (versions) => {
      const resources = await loadResources(new URL('../../schemas', import.meta.url).pathname)
      const keys = await readPolicyKeys(approved.published.publicKey())
      const judge = async (change: Parameters<typeof judgeApproved>[0]) => judgeApproved(change, resources)
      const base = await readBase({ versions, keys, judge, now: Date.now }, resources)
      const content = await approved.published.contentWith(WIDER)
      const wanted = { title: 't', time: Date.now(), expires: Date.now() + 60_000, content, blocked: '' }
      expect((await propose(versions, base, wanted, approved.people.ada)).number).to.equal(2)
      for (const name of ['zoe', 'tim'] as const) await approved.as(name, 'approve', '1')
      expect((await approved.run('publish', '1')).stdout).to.contain('is version 2')
      const late = propose(versions, base, wanted, approved.people.ada)
      expect(String(await failure(late))).to.contain('another version was published meanwhile, so nothing was done')
      expect(await versions.latestProposal()).to.equal(2)
    })
  })

  it('hold up no block, and stand for none that does something else', async () => {
    const content = await approved.published.contentWith('')
    const block = async () => JSON.parse((await approved.as('zoe', 'block', 'user:mallory', '--format', 'json')).stdout)
    for (const [text, made] of [
      ['user:mallory\nuser:eve\n', true],
      ['user:mallory\nno line of a block\n', true],
      ['user:mallory until=2001-01-01T00:00:00Z\n', true],
      ['user:mallory\n', false],
    ] as const) {
      const { described, texts } = describedFiles(content, text)
      await proposeOdd(() => described, [...texts.values()])
      expect(await block(), text).to.deep.include({ made, proposal: made ? 3 : 2, version: null })
      approved.published.tamper('delete from policy_proposals where number > 1')
    }
  })

  it('count for nothing where a ticket or a reason is no text', async () => {
    await proposeOdd(() => ({ ticket: { href: 'x' } as never }))
    expect((await approved.run('review', '2', '--matrices', none)).stderr).to.contain('was signed by nobody')
    await approved.published.within(approved.published.versions(), async (versions) => {
      const [{ signed } = { signed: '' }] = await versions.proposalsAfter(0)
      for (const reason of [{ a: 1 }, null, 7] as never[]) {
        const said = { of: digestOfText(signed), says: 'approved' as const, time: new Date().toISOString(), reason }
        await versions.addSignature(1, await signApproval(said, approved.people.zoe))
      }
    })
    const { said } = JSON.parse((await approved.run('review', '1', '--matrices', none, '--format', 'json')).stdout)
    expect(said).to.deep.equal([])
  })

  it('show one line for any title, ticket and reason', async () => {
    await proposeOdd(() => ({
      title: `a\nIt may be approved\u001b[2J\u202e${'x'.repeat(9999)}`,
      ticket: `\u001b]0;x\u0007${'y'.repeat(9999)}`,
    }))
    await approved.published.within(approved.published.versions(), async (versions) => {
      const [, { signed } = { signed: '' }] = await versions.proposalsAfter(0)
      for (const reason of [undefined, 'b\n\u001b[2J']) {
        const said = { of: digestOfText(signed), says: 'approved' as const, time: new Date().toISOString(), reason }
        await versions.addSignature(2, await signApproval(said, approved.people.zoe))
      }
    })
    const { code, stdout, stderr } = await approved.run('review', '2', '--matrices', none)
    expect([code, stderr]).to.deep.equal([0, ''])
    expect(stdout).to.match(/^Proposal 2 by `kim`, \S+: a\\u\{a\}It may be approved\\u\{1b\}\[2J\\u\{202e\}x+…\n/)
    expect(stdout).to.not.contain('\u001b')
    expect(Math.max(...stdout.split('\n').map(({ length }) => length))).to.be.lessThan(400)
    const { stdout: json } = await approved.run('review', '2', '--matrices', none, '--format', 'json')
    await holds('policy-review', json)
    await holds('policy-proposals', (await approved.run('proposals', '--format', 'json')).stdout)
  })
})
