/** What somebody who writes to the database may make of signed proposals and approvals: each is refused, with a reason. */
import { expect } from 'chai'
import { judgeApproved } from '../../src/analysis/approvals/judge.ts'
import { readPolicyKeys } from '../../src/identity/keys/policy-keys.ts'
import { revisionOfContent } from '../../src/policy/policy-files.ts'
import {
  type Approval,
  approvedText,
  type PolicyProposal,
  signApproval,
  signProposal,
} from '../../src/policy/published/proposal.ts'
import { digestOfText } from '../../src/policy/published/signed-version.ts'
import { loadResources } from '../../src/resources/load/load-resources.ts'
import { propose, readBase } from '../../src/tools/approvals/proposals.ts'
import { digestOf } from '../../src/tools/release/content.ts'
import { sequenceOf } from '../published/fixture.ts'
import type { TestServer } from '../server.ts'
import { until } from '../until.ts'
import { ApprovedPolicies, type Name, Person } from './people.ts'

const WIDER = 'p, anonymous, notes, list, any, *, allow\n'
const uncheckedBecause = 'the published policy grants more than the folder of the checker'
const DAY = 24 * 60 * 60 * 1000
const at = (ms: number) => new Date(Date.now() + ms).toISOString()

describe('a version that somebody made of signed proposals and approvals', function () {
  this.timeout(180_000)
  let approved: ApprovedPolicies
  let server: TestServer
  /** A change of version 1 that needs two of security. */
  let proposal: PolicyProposal
  let signed: string

  before(async () => {
    approved = await ApprovedPolicies.make()
    server = await approved.published.start({}, { uncheckedBecause })
    const content = await approved.published.contentWith(WIDER)
    const texts = new Map([...content].map(([name, bytes]) => [name, Buffer.from(bytes).toString()]))
    texts.set('blocked.txt', BLOCKED)
    const base = await approved.published.within(approved.published.versions(), async (versions) => {
      for (const text of texts.values()) approved.published.tamper(insertFile(text))
      return { database: (await versions.home()).id, signed: (await versions.get(1)) ?? '' }
    })
    proposal = {
      proposal: 1,
      database: base.database,
      base: { number: 1, digest: digestOfText(base.signed) },
      title: 'guests list notes',
      revision: revisionOfContent(content, BLOCKED),
      digest: digestOf(content),
      files: Object.fromEntries([...texts].map(([name, text]) => [name, digestOfText(text)])),
      time: at(0),
      expires: at(DAY),
      needs: 1,
    }
    signed = await signProposal(proposal, approved.people.ada)
  })
  after(() => approved.remove())
  const forgotten = async () => {
    approved.published.tamper('delete from policy_versions where number > 1')
    await until(() => server.app.policy.faults.length === 0)
  }
  afterEach(forgotten)

  const store = (text: string, number = 2) =>
    approved.published.tamper(`insert into policy_versions values (${number}, '${text.replaceAll("'", "''")}')`)
  const approvalBy = (who: Name | Person, changes: Partial<Approval> = {}, of = signed) => {
    const approval = { of: digestOfText(of), says: 'approved' as const, time: at(0), ...changes }
    return signApproval(approval, typeof who === 'string' ? approved.people[who] : who)
  }
  const versionOf = (approvals: readonly string[], text = signed, time = at(0)) =>
    approvedText({ proposal: text, approvals, time })
  const both = async (of = signed) => [await approvalBy('zoe', {}, of), await approvalBy('tim', {}, of)]
  const changed = async (changes: Partial<PolicyProposal>, by: Name | Person = 'ada') => {
    const text = await signProposal({ ...proposal, ...changes }, typeof by === 'string' ? approved.people[by] : by)
    return versionOf(await both(text), text)
  }

  const isRefused = async (text: string, code: string) => {
    const before = server.log.length
    store(text)
    const codes = () =>
      server.log
        .slice(before)
        .flatMap(({ faults }) => ((faults ?? []) as readonly { code: string }[]).map((one) => one.code))
    await until(() => codes().length > 0)
    expect(codes()).to.deep.equal([code])
    expect(await sequenceOf(server)).to.equal(1)
    expect((await server.ask('GET', '/api/v1/notes')).status).to.equal(401)
  }

  it('is taken with the approvals that it needs, whoever stores it: the checks below can fail', async () => {
    // On a database of its own: a version that was taken stays.
    const other = await ApprovedPolicies.make()
    const follower = await other.published.start({}, { uncheckedBecause })
    await other.published.within(other.published.versions(), async (versions) => {
      const resources = await loadResources(new URL('../../schemas', import.meta.url).pathname)
      const keys = await readPolicyKeys(other.published.publicKey())
      const judge = async (change: Parameters<typeof judgeApproved>[0]) => judgeApproved(change, resources)
      const base = await readBase({ versions, keys, judge, now: Date.now }, resources)
      const content = await other.published.contentWith(WIDER)
      const wanted = {
        title: 't',
        time: Date.now(),
        expires: Date.now() + DAY,
        content,
        blocked: base.policy.blockedFile.text,
      }
      const made = await propose(versions, base, wanted, other.people.ada)
      const of = digestOfText(made.signed)
      const approvals = await Promise.all(
        (['zoe', 'tim'] as const).map((name) =>
          signApproval({ of, says: 'approved', time: at(0) }, other.people[name]),
        ),
      )
      other.published.tamper(`insert into policy_versions values (2, '${versionOf(approvals, made.signed)}')`)
    })
    await until(async () => (await sequenceOf(follower)) === 2)
    expect((await follower.ask('GET', '/api/v1/notes')).status).to.equal(200)
    await other.remove()
  })

  it('is refused without approvals, with one of two, or with those of the wrong group', async () => {
    await isRefused(versionOf([]), 'approval-missing')
    await forgotten()
    await isRefused(versionOf([await approvalBy('zoe'), await approvalBy('kim')]), 'approval-missing')
  })

  it('is refused if the author approves, or one person twice', async () => {
    await isRefused(versionOf([await approvalBy('ada'), await approvalBy('zoe')]), 'approval-missing')
    await forgotten()
    const { second } = approved.people.zoe
    for (const again of [approvalBy('zoe', { time: at(1000) }), approvalBy(second ?? new Person())]) {
      await isRefused(versionOf([await approvalBy('zoe'), await again]), 'approval-missing')
      await forgotten()
    }
  })

  it('is refused if somebody signs who is not in the file', async () => {
    await isRefused(versionOf([await approvalBy('zoe'), await approvalBy(new Person())]), 'approval-signature')
  })

  it('is refused if a stranger signs under the name of a key in the file', async () => {
    const stranger = new Person()
    const signer = { kid: approved.people.tim.kid, sign: (bytes: Uint8Array) => stranger.sign(bytes) }
    const forged = await signApproval({ of: digestOfText(signed), says: 'approved', time: at(0) }, signer)
    await isRefused(versionOf([await approvalBy('zoe'), forged]), 'approval-signature')
  })

  it('is refused if nobody of the file has proposed it', async () => {
    await isRefused(await changed({}, new Person()), 'approval-signature')
  })

  it('is refused if its approvals are of another proposal, also of one with the same files', async () => {
    const other = await signProposal({ ...proposal, proposal: 2 }, approved.people.ada)
    await isRefused(versionOf(await both(other)), 'approval-signature')
  })

  it('is refused if the proposal is changed, cut, or has the signature of another', async () => {
    const [header = '', payload = '', signature = ''] = signed.split('.')
    const said = JSON.parse(Buffer.from(payload, 'base64url').toString())
    const bent = Buffer.from(JSON.stringify({ ...said, title: 'other' })).toString('base64url')
    for (const text of [
      `${header}.${bent}.${signature}`,
      `${header}.${payload}.${signature.slice(2)}`,
      `${header}.${payload}`,
    ]) {
      await isRefused(
        versionOf(await both(text), text),
        text.split('.').length === 3 && text.endsWith(signature) ? 'approval-signature' : 'version-unknown',
      )
      await forgotten()
    }
    const approval = await approvalBy('zoe')
    await isRefused(versionOf(await both(approval), approval), 'version-unknown')
  })

  it('is refused if a signature has a second form', async () => {
    const [zoe, tim = ''] = await both()
    // Of the last character, four bits count: the next one stands for the same bytes.
    const next = String.fromCharCode((tim.codePointAt(tim.length - 1) ?? 0) + 1)
    const bent = `${tim.slice(0, -1)}${next}`
    const bytesOf = (text: string) => Buffer.from(text.split('.')[2] ?? '', 'base64url')
    expect(bytesOf(bent)).to.deep.equal(bytesOf(tim))
    for (const second of [`${tim}=`, `${tim} `, bent]) {
      await isRefused(versionOf([zoe ?? '', second]), 'approval-signature')
      await forgotten()
    }
  })

  it('is refused if it changes another version: other number, other text, other database', async () => {
    for (const changes of [
      { base: { ...proposal.base, number: 2 } },
      { base: { ...proposal.base, digest: digestOfText('other') } },
      { database: 'another' },
    ]) {
      await isRefused(await changed(changes), 'approval-base')
      await forgotten()
    }
  })

  it('is refused under a later number, without the versions between', async () => {
    const before = server.log.length
    store(versionOf(await both()), 3)
    await until(() => server.log.length > before)
    await until(() => server.app.policy.faults.length > 0)
    expect(String(server.app.policy.faults[0])).to.contain('follows version 2, which is missing or not valid')
    expect(await sequenceOf(server)).to.equal(1)
  })

  it('is refused if somebody has rejected it, and that is among its approvals', async () => {
    const rejection = await approvalBy('kim', { says: 'rejected', reason: 'no' })
    await isRefused(versionOf([...(await both()), rejection]), 'approval-closed')
  })

  it('is refused before its time, after its time, and far before it by the clock of the machine', async () => {
    const text = await signProposal({ ...proposal, expires: at(-1000) }, approved.people.ada)
    await isRefused(versionOf(await both(text), text), 'approval-window')
    await forgotten()
    await isRefused(await changed({ notBefore: at(DAY / 2) }), 'approval-window')
    await forgotten()
    // Whoever writes the rows may write any time into the version.
    const early = await signProposal({ ...proposal, notBefore: at(DAY / 2) }, approved.people.ada)
    await isRefused(versionOf(await both(early), early, at(DAY / 2 + 1000)), 'approval-window')
  })

  it('is refused if other code has computed what it needs', async () => {
    await isRefused(await changed({ needs: 2 }), 'approval-program')
  })

  it('is refused if a time in it has another meaning in another time zone', async () => {
    const soon = new Date(Date.now() + 1000).toString().slice(0, 24)
    await isRefused(versionOf(await both(), signed, soon), 'version-signature')
    await forgotten()
    await isRefused(await changed({ expires: '2999-01-01T00:00' }), 'version-unknown')
  })

  it('is refused, and the database still counts as readable, whatever an unsigned proposal claims', async () => {
    const without = Object.fromEntries(Object.entries(proposal.files).filter(([name]) => name !== 'policy.csv'))
    const claims = [
      { files: {} },
      { files: {}, revision: revisionOfContent(new Map(), '') },
      { files: without },
      { files: { ...proposal.files, 'policy.csv': '\0' } },
      { files: { ...proposal.files, 'policy.csv': '\ud800' } },
      { base: { number: -1, digest: '' } },
      { expires: '+275760-09-13T00:00:00.000Z', notBefore: '-271821-04-20T00:00:00.000Z' },
    ]
    for (const changes of claims) {
      const faults = server.log.length
      const text = await signProposal({ ...proposal, ...changes }, new Person())
      store(versionOf([], text))
      await until(() => server.log.slice(faults).some((line) => line.faults || line.err))
      expect(
        server.log.slice(faults).filter(({ err }) => err),
        JSON.stringify(changes).slice(0, 200),
      ).to.deep.equal([])
      expect(await sequenceOf(server)).to.equal(1)
      await forgotten()
    }
  })

  it('is refused if its files are not those that were signed', async () => {
    await isRefused(await changed({ files: { ...proposal.files, 'policy.csv': digestOfText('none') } }), 'version-file')
    await forgotten()
    await isRefused(await changed({ revision: revisionOfContent(new Map(), 'other') }), 'version-unknown')
  })
})

const BLOCKED = ''

function insertFile(text: string): string {
  return `insert or ignore into policy_files values ('${digestOfText(text)}', '${text.replaceAll("'", "''")}')`
}
