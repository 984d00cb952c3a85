/**
 * An administrator of the database, who reads, writes, changes and deletes any row at any moment, never brings a policy
 * in force that the right people haven't approved as a change of the version before it.
 */
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import fc from 'fast-check'
import { judgeApproved } from '../../src/analysis/approvals/judge.ts'
import { FileError } from '../../src/base/diagnostic.ts'
import { type PolicyFiles, revisionOfContent } from '../../src/policy/policy-files.ts'
import { approvedText, readApprovedText } from '../../src/policy/published/proposal.ts'
import { type KeptVersion, PublishedSource } from '../../src/policy/published/published-source.ts'
import { digestOfText, signVersion, type VersionSigner } from '../../src/policy/published/signed-version.ts'
import type { JudgeChange } from '../../src/policy/published/version-chain.ts'
import { openPolicyVersions, readDatabaseUrl } from '../../src/store/open.ts'
import type { PolicyVersions } from '../../src/store/policy-versions.ts'
import {
  findProposal,
  type ProposalBase,
  type ProposalStatus,
  propose,
  publishProposal,
  readBase,
  respond,
} from '../../src/tools/approvals/proposals.ts'
import { ToolError } from '../../src/tools/load-policy.ts'
import { digestOf } from '../../src/tools/release/content.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { drawing, runs } from '../runs.ts'
import { makePeople, type Name, Person } from './people.ts'
import { areEnough, SMALL_POLICIES, SmallPolicies, type SmallPolicy } from './small-policies.ts'

const NAMES: readonly Name[] = ['ada', 'zoe', 'tim', 'kim']
const TABLES = ['versions', 'files', 'proposals', 'signatures']
const FOREVER = Date.now() + 30 * 24 * 60 * 60 * 1000

describe('an administrator of the database', function () {
  this.timeout(2_400_000)
  const people = makePeople()
  /** Somebody's key that no file knows. */
  const stranger = new Person()
  let folder = ''
  let small: SmallPolicies
  let versions: PolicyVersions
  let rows: DatabaseSync
  let signer: VersionSigner

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-administrator-'))
    small = await SmallPolicies.make(people)
    const file = join(folder, 'data.sqlite')
    const database = readDatabaseUrl(`sqlite:${file}`)
    const opened = 'fault' in database ? undefined : await openPolicyVersions(database)
    if (!opened) throw new Error('the database keeps no policies')
    versions = opened
    rows = new DatabaseSync(file, { timeout: 5000 })
    signer = { kid: 'publisher', privateKey: generateKeyPairSync('ed25519').privateKey }
  })
  after(async () => {
    rows.close()
    await versions.close()
    await removeFolder(folder)
  })

  const tables = () => TABLES.map((name) => rows.prepare(`select * from policy_${name}`).all())
  const restore = (kept: ReturnType<typeof tables>) => {
    for (const [i, name] of TABLES.entries()) {
      rows.exec(`delete from policy_${name}`)
      for (const row of kept[i] ?? []) {
        const values = Object.values(row)
        rows.prepare(`insert into policy_${name} values (${values.map(() => '?').join(', ')})`).run(...values)
      }
    }
  }

  /** The texts name the files of both versions by their digests, so one answer holds for equal texts. */
  const judged = new Map<string, ReturnType<typeof judgeApproved>>()
  const judgeTruly: JudgeChange = async ({ before, after, ...texts }) =>
    judged.getOrInsertComputed(JSON.stringify(texts), () => judgeApproved({ before, after, ...texts }, small.resources))
  /** What an instance without the check would do. */
  const judgeNothing: JudgeChange = async () => ({ author: { by: 'ada', kid: '' }, approvers: [] })

  class History {
    readonly #judge: JudgeChange
    /** The policies that may be in force, by number and revision. */
    readonly #right = new Map<string, SmallPolicy>()
    /** What people have signed, by the text of the proposal: as they meant it. */
    readonly #meant = new Map<
      string,
      { base: number; from: SmallPolicy; to: SmallPolicy; author: Name; by: Set<Name> }
    >()
    /** All texts that the administrator has ever seen. */
    readonly #proposals: string[] = []
    readonly #signatures: string[] = []
    readonly #versions: string[] = []
    readonly #instances: Instance[] = []
    readonly counts = { taken: 0, refused: 0, published: 0 }

    constructor(judge: JudgeChange) {
      this.#judge = judge
    }

    async begin(): Promise<void> {
      restore([])
      const first = SMALL_POLICIES[0] as SmallPolicy
      await this.#publish(1, first)
      for (let i = 0; i < 2; i++) this.#instances.push(await this.#start())
    }

    get signed() {
      const keys = new Map([[signer.kid, createPublicKey(signer.privateKey)]])
      return { versions, keys, judge: judgeTruly, now: Date.now }
    }

    async #publish(number: number, policy: SmallPolicy): Promise<void> {
      const content = small.contentOf(policy)
      const texts = new Map([...content].map(([name, bytes]) => [name, Buffer.from(bytes).toString()]))
      texts.set('blocked.txt', '')
      const { id } = await versions.home()
      const signed = await signVersion(
        {
          number,
          database: id,
          revision: revisionOfContent(content, ''),
          time: new Date().toISOString(),
          user: 'publisher',
          kind: 'applied',
          digest: digestOf(content),
          files: Object.fromEntries([...texts].map(([name, text]) => [name, digestOfText(text)])),
        },
        signer,
      )
      const files = new Map([...texts.values()].map((text) => [digestOfText(text), text]))
      await versions.publish({ number, signed, files })
      this.#right.set(keyOf(number, policy), policy)
      this.#versions.push(signed)
    }

    async #start(followed?: KeptVersion): Promise<Instance> {
      const keys = new Map([[signer.kid, createPublicKey(signer.privateKey)]])
      const options = { keys, judge: this.#judge, now: Date.now, ...(followed ? { followed } : {}) }
      const source = new PublishedSource(versions, options)
      return { source, followed }
    }

    /** One act, by somebody; then each instance looks. */
    async act({ who, what, a, b }: Act): Promise<void> {
      const kept = who === 'administrator' && b % 4 > 0 ? tables() : undefined
      try {
        if (who === 'people') await this.#people(what, a, b)
        else if (who === 'all') await this.#together(a, b)
        else this.#administrate(what, a, b)
      } catch (error) {
        // What people are refused, they don't do.
        if (!(error instanceof ToolError || error instanceof FileError)) throw error
      }
      await this.#look(a)
      // Mostly the rows are put back, so that people get somewhere.
      if (kept) restore(kept)
    }

    /** One proposes, two others approve, and it is published. */
    async #together(a: number, b: number): Promise<void> {
      for (const [i, what] of [0, 2, 3, 6].entries()) await this.#people(what, a + i, b * 4 + 1)
    }

    async #people(what: number, a: number, b: number): Promise<void> {
      const base = await readBase(this.signed, small.resources)
      const name = NAMES[a % NAMES.length] as Name
      const number = Number(rows.prepare('select coalesce(max(number), 0) as n from policy_proposals').get()?.n)
      if (what % 8 === 0 || number === 0) return this.#propose(base, name, b)
      const status = await findProposal(versions, base, Math.max(1, number - (b % 4 === 0 ? 1 : 0)))
      if (what % 8 < 6)
        return this.#respond(base, status, name, what % 8 === 5 && b % 5 === 0 ? 'rejected' : 'approved')
      this.#note(status.signed, await publishProposal(this.signed, base, status, small.resources))
      this.counts.published += 1
    }

    async #propose(base: ProposalBase, author: Name, b: number): Promise<void> {
      const from = this.#policyOf(base.number, base.version.revision)
      const to = SMALL_POLICIES[b % SMALL_POLICIES.length] as SmallPolicy
      const wanted = { title: 't', time: Date.now(), expires: FOREVER, content: small.contentOf(to), blocked: '' }
      const { signed } = await propose(versions, base, wanted, people[author])
      this.#proposals.push(signed)
      if (from) this.#meant.set(signed, { base: base.number, from, to, author, by: new Set() })
    }

    async #respond(
      base: ProposalBase,
      status: ProposalStatus,
      name: Name,
      says: 'approved' | 'rejected',
    ): Promise<void> {
      const before = new Set(await versions.signaturesOf(status.number))
      await respond(versions, base, status, { says }, people[name])
      this.#signatures.push(...(await versions.signaturesOf(status.number)).filter((one) => !before.has(one)))
      if (says === 'approved') this.#meant.get(status.signed)?.by.add(name)
    }

    /** A proposal that people have approved may be in force, whoever stores it. */
    #note(proposal: string, number: number): void {
      const meant = this.#meant.get(proposal)
      if (meant?.base !== number - 1 || !this.#right.has(keyOf(meant.base, meant.from))) return
      if (areEnough(meant.from, meant.to, meant.author, meant.by)) this.#right.set(keyOf(number, meant.to), meant.to)
    }

    #policyOf(number: number, revision: string): SmallPolicy | undefined {
      return SMALL_POLICIES.find((one) => revisionOf(one) === revision && this.#right.has(keyOf(number, one)))
    }

    #administrate(what: number, a: number, b: number): void {
      const last = rows.prepare('select number, signed from policy_versions order by number desc limit 1').get()
      const [number, signed] = [Number(last?.number ?? 0), String(last?.signed ?? '')]
      if (signed !== '' && !this.#versions.includes(signed)) this.#versions.push(signed)
      const proposal = pick(this.#proposals, a) ?? ''
      const some = this.#signatures.filter((_, i) => ((b >> (i % 20)) & 1) === 1).slice(-6)
      const text = this.#forged(what, proposal, some, a, b)
      const write = (to: number, value: string) => {
        rows.prepare('insert or replace into policy_versions (number, signed) values (?, ?)').run(to, value)
      }
      switch (what % 10) {
        case 0:
        case 1:
        case 2:
          write(number + 1, text)
          break
        case 3:
          write(number, text)
          break
        case 4:
          rows.prepare('delete from policy_versions where number > ?').run(a % (number + 1))
          break
        case 5:
          write(number + 1 - (a % 2), pick(this.#versions, b) ?? '')
          break
        case 6:
          rows
            .prepare('update policy_proposals set signed = ? where number = ?')
            .run(this.#bent(proposal, a, b), 1 + (b % 3))
          break
        case 7:
          rows.prepare('update policy_signatures set proposal = ?').run(1 + (a % 3))
          break
        case 8: {
          const to = small.contentOf(SMALL_POLICIES[b % SMALL_POLICIES.length] as SmallPolicy)
          const csv = Buffer.from(to.get('policy.csv') ?? []).toString()
          rows.prepare('update policy_files set content = ? where content like ?').run(csv, '%# end of policy%')
          break
        }
        default:
          rows.prepare('delete from policy_signatures where digest > ?').run((a % 16).toString(16))
      }
    }

    /** A version made of what people have signed, or of what they seem to have signed. */
    #forged(what: number, proposal: string, signatures: readonly string[], a: number, b: number): string {
      const time = new Date(Date.now() - (b % 3) * 60_000).toISOString()
      const bent = [proposal, proposal, this.#bent(proposal, a, b), pick(this.#signatures, b) ?? ''][a % 4] ?? ''
      const all =
        [signatures, this.#signatures.slice(-8), [], signatures.map((one) => this.#bent(one, b, a))][b % 4] ?? []
      return what % 7 === 0 ? bent : approvedText({ proposal: bent, approvals: all, time })
    }

    /** Another payload under the same signature, the parts of two texts, or a text cut short. */
    #bent(text: string, a: number, b: number): string {
      const other = pick([...this.#proposals, ...this.#signatures], b) ?? ''
      const [one, two] = [text.split('.'), other.split('.')]
      if (a % 3 === 0) return text.slice(0, b % (text.length + 1))
      if (a % 3 === 1) return [0, 1, 2].map((i) => ((b >> i) & 1 ? two[i] : one[i]) ?? '').join('.')
      const said = JSON.parse(Buffer.from(one[1] ?? '', 'base64url').toString() || '{}')
      const changed = { ...said, base: { number: a % 5, digest: said.base?.digest }, by: 'tim', says: 'approved' }
      const header = Buffer.from(JSON.stringify({ alg: 'EdDSA', kid: stranger.kid, typ: 'sallyport-proposal' }))
      const payload = Buffer.from(JSON.stringify(changed)).toString('base64url')
      return [b % 2 ? one[0] : header.toString('base64url'), payload, one[2]].join('.')
    }

    async #look(at: number): Promise<void> {
      // One is started anew, with what it kept or as a new machine.
      const restarted = at % this.#instances.length
      const { source: old } = this.#instances[restarted] as Instance
      if (at % 5 === 0) {
        const { number: sequence = 0, digest } = old.known ?? {}
        const kept = { sequence, database: old.database, digest }
        this.#instances[restarted] = await this.#start(at % 10 === 0 && sequence > 0 ? kept : undefined)
      }
      for (const instance of this.#instances) await this.#lookWith(instance)
    }

    async #lookWith({ source, followed }: Instance): Promise<void> {
      const before = source.known
      await source.look()
      const { known } = source
      const reading = await source.read()
      if (reading.refusal) this.counts.refused += 1
      if (!known || (known.number === before?.number && known.digest === before.digest)) return
      if (followed?.sequence === known.number && followed.digest === known.digest && !before) return
      expect(known.number, 'no instance goes back').to.be.at.least(before?.number ?? 0)
      await this.#expectRight(known.number, source)
      if (known.number > 1) this.counts.taken += 1
    }

    async #expectRight(number: number, source: PublishedSource): Promise<void> {
      // It may be that the administrator stored what people had approved.
      for (let n = 2; n <= number; n++) this.#note(readApprovedText((await versions.get(n)) ?? '')?.proposal ?? '', n)
      const found = SMALL_POLICIES.find((one) => isOf(one, source.files))
      const right = found && this.#right.has(keyOf(number, found))
      expect(right, `version ${number} is ${JSON.stringify(found)}`).to.equal(true)
    }
  }

  const isOf = (policy: SmallPolicy, files: PolicyFiles | undefined) =>
    ['policy.csv', 'approvals.yaml'].every((name) => Object(files)[name]?.text === textOf(policy, name))
  const textOf = (policy: SmallPolicy, name: string) => Buffer.from(small.contentOf(policy).get(name) ?? []).toString()
  const revisionOf = (policy: SmallPolicy) => revisionOfContent(small.contentOf(policy), '')

  async function draw(judge: JudgeChange, numRuns: number) {
    const total: Counts = { taken: 0, refused: 0, published: 0 }
    await fc.assert(
      fc.asyncProperty(fc.array(ACT, { minLength: 20, maxLength: 40 }), async (acts) => {
        const history = new History(judge)
        await history.begin()
        for (const act of acts) await history.act(act)
        for (const key of ['taken', 'refused', 'published'] as const) total[key] += history.counts[key]
      }),
      { numRuns, endOnFailure: judge === judgeNothing },
    )
    return total
  }

  it('brings nothing in force that the right people have not approved', async () => {
    let total: Counts = { taken: 0, refused: 0, published: 0 }
    await drawing(
      async () => {
        total = await draw(judgeTruly, runs(400, 12))
      },
      () => {
        for (const count of Object.values(total)) expect(count).to.be.greaterThan(0)
      },
    )
  })

  it('would, if instances did not judge: the test can fail', async () => {
    await expectFailure(() => draw(judgeNothing, runs(1000, 200)))
  })
})

async function expectFailure(work: () => Promise<unknown>): Promise<void> {
  const failed = await work().then(
    () => undefined,
    (error: Error) => error,
  )
  expect(failed?.message).to.contain('Property failed')
}

interface Instance {
  readonly source: PublishedSource
  readonly followed: KeptVersion | undefined
}

type Counts = Record<'taken' | 'refused' | 'published', number>

interface Act {
  readonly who: 'people' | 'all' | 'administrator'
  readonly what: number
  readonly a: number
  readonly b: number
}

const NUMBER = fc.nat({ max: 1_000_000 })
const ACT: fc.Arbitrary<Act> = fc.record({
  who: fc.constantFrom('people', 'people', 'all', 'administrator', 'administrator'),
  what: NUMBER,
  a: NUMBER,
  b: NUMBER,
})

function keyOf(number: number, { level, approvals }: SmallPolicy): string {
  return `${number}:${level}:${approvals}`
}

function pick<T>(all: readonly T[], at: number): T | undefined {
  return all[at % all.length]
}
