/**
 * Publishes approved proposals when their time has come, by the clock of the database. Each instance tries, one of them
 * stores the version, and all follow it.
 */
import type { Logger } from 'pino'
import { FileError } from '../../base/diagnostic.ts'
import { approvalsOf } from '../../policy/parse/parse-approvals.ts'
import type { PolicyFiles } from '../../policy/policy-files.ts'
import { claimedProposal, type PolicyProposal, readProposal } from '../../policy/published/proposal.ts'
import { isPublished, type PublishParts, publishApproved } from '../../policy/published/publish-approved.ts'
import { PASSING } from '../../policy/published/published-source.ts'
import { digestOfText, type VersionHome } from '../../policy/published/signed-version.ts'
import { isSame, type KnownVersion, type ValidVersion, validVersion } from '../../policy/published/version-chain.ts'
import type { PolicyVersions, StoredProposal } from '../../store/policy-versions.ts'

const LOOK_MS = 500
/** How often a due proposal that lacks something is tried again: its approvals may come later. */
const AGAIN_MS = 5000
/** How long an overdue proposal is reported after its end. */
const TOLD_MS = 24 * 60 * 60 * 1000

export interface DueOptions extends Omit<PublishParts, 'versions'> {
  readonly versions: PolicyVersions
  /** The files of the last version that was found valid. */
  readonly inForce: () => PolicyFiles | undefined
  /** The last version that was found valid. */
  readonly known: () => KnownVersion | undefined
  readonly report: (outcome: DueOutcome) => void
}

export type DueOutcome =
  | { readonly kind: 'published'; readonly proposal: number; readonly version: number }
  /** `why` is a sentence. */
  | { readonly kind: 'overdue'; readonly proposal: number; readonly why: string }

interface Scheduled extends StoredProposal {
  readonly said: PolicyProposal
  /** Milliseconds since the epoch, by the clock of the database. */
  readonly from: number
  readonly until: number
}

export class DueProposals {
  readonly #options: DueOptions
  readonly #timer: NodeJS.Timeout
  readonly #waiting = new Map<number, Scheduled>()
  /** Why proposals are not in force although their time has come, and until when that is reported. */
  readonly #overdue = new Map<number, { readonly why: string; readonly until: number }>()
  /** The digests of the signatures with which proposals failed. */
  readonly #failed = new Map<number, string>()
  #read = 0
  #home: VersionHome | undefined
  #busy: Promise<void> | undefined
  #againAt = 0

  constructor(options: DueOptions) {
    this.#options = options
    this.#timer = setInterval(() => {
      // A database that doesn't answer is reported by the follower.
      this.#busy ??= this.#look()
        .catch(() => {})
        .finally(() => {
          this.#busy = undefined
        })
    }, LOOK_MS)
    this.#timer.unref()
  }

  /** A sentence each. */
  get overdue(): readonly string[] {
    return [...this.#overdue.values()].map(({ why }) => why)
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#busy
  }

  async #look(): Promise<void> {
    if (!this.#options.inForce()?.['approvals.yaml']) return
    await this.#readNew()
    if (this.#waiting.size === 0 && this.#overdue.size === 0) return
    const now = await this.#options.versions.now()
    for (const [number, { until }] of this.#overdue) if (until < now) this.#overdue.delete(number)
    const due = [...this.#waiting.values()].filter(({ from }) => from <= now)
    if (due.length === 0 || performance.now() < this.#againAt) return
    for (const one of due) await this.#take(one, now)
    if (due.some(({ number }) => this.#waiting.has(number))) this.#againAt = performance.now() + AGAIN_MS
  }

  /** Not verified yet: the version that says who may propose them may come after them. */
  async #readNew(): Promise<void> {
    for (const { number, signed } of await this.#options.versions.proposalsAfter(this.#read)) {
      this.#read = number
      const said = claimedProposal(signed)
      if (said?.notBefore === undefined || said.proposal !== number) continue
      const [from, until] = [Date.parse(said.notBefore), Date.parse(said.expires)]
      this.#waiting.set(number, { number, signed, said, from, until })
      this.#againAt = 0
    }
  }

  async #take(scheduled: Scheduled, now: number): Promise<void> {
    const { number, signed, said } = scheduled
    const { inForce, resources, versions } = this.#options
    const base = await this.#base()
    const files = inForce()
    if (!base || !files) return
    const approvals = approvalsOf(files, resources)
    if (!approvals || !readProposal(signed, approvals)) {
      this.#waiting.delete(number)
      return
    }
    if (digestOfText(base.signed) !== said.base.digest) {
      this.#waiting.delete(number)
      if (await isPublished(versions, signed)) return
      const why = `version ${base.number} is in force, and it changes version ${said.base.number}`
      return this.#tell(scheduled, why, now + TOLD_MS)
    }
    if (now > scheduled.until) {
      this.#waiting.delete(number)
      return this.#tell(scheduled, `it expired at ${said.expires} before it was published`, now + TOLD_MS)
    }
    // What has failed is judged again once somebody has signed more: one person may propose very much.
    const signatures = digestOfText((await versions.signaturesOf(number)).toSorted().join(' '))
    if (this.#failed.get(number) === signatures) return
    this.#home ??= await versions.home()
    const found = await publishApproved(scheduled, base, this.#home, this.#options).catch(faultOf)
    if ('outrun' in found) return
    if ('version' in found || found.code === 'approval-closed') {
      this.#waiting.delete(number)
      this.#overdue.delete(number)
      if ('version' in found) this.#options.report({ kind: 'published', proposal: number, version: found.version })
      return
    }
    if (!PASSING.includes(found.code)) this.#failed.set(number, signatures)
    this.#tell(scheduled, `it ${found.message}`, scheduled.until + TOLD_MS)
  }

  /** Undefined until this instance has the last version in force: it judges that one first. */
  async #base(): Promise<ValidVersion | undefined> {
    const { versions, known } = this.#options
    const last = await versions.last()
    if (!last || !isSame(last, known())) return undefined
    this.#home ??= await versions.home()
    const { version } = await validVersion(last, this.#home, known(), this.#options)
    return { ...last, version }
  }

  #tell({ number, said }: Scheduled, reason: string, until: number): void {
    const why = `proposal ${number}, which was to be in force at ${said.notBefore}, is not: ${reason}`
    if (this.#overdue.get(number)?.why === why) return
    this.#overdue.set(number, { why, until })
    this.#options.report({ kind: 'overdue', proposal: number, why })
  }
}

/** Faulty files keep one proposal out, and must not hold up the others. */
function faultOf(error: unknown) {
  if (!(error instanceof FileError)) throw error
  const [first] = error.diagnostics
  return { code: 'files', message: `can't be published: ${first?.message ?? 'its files have errors'}` }
}

export function logDue(log: Logger): (outcome: DueOutcome) => void {
  return (outcome) => {
    if (outcome.kind === 'overdue') {
      log.warn({ proposal: outcome.proposal }, outcome.why)
      return
    }
    const { proposal, version } = outcome
    log.info({ proposal, version }, 'a proposal whose time had come was published')
  }
}
