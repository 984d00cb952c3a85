/**
 * Follows the roles that callers have for a time: reads what people have said about them, and puts in force what the
 * approvals.yaml in force allows. Each role ends by the clock of this machine, whether the database answers or not.
 */
import type { Logger } from 'pino'
import { FileError } from '../../base/diagnostic.ts'
import type { Approvals } from '../../decide/policy.ts'
import type { LivePolicy } from '../../policy/live/live-policy.ts'
import { approvalsOf } from '../../policy/parse/parse-approvals.ts'
import type { PolicyFiles } from '../../policy/policy-files.ts'
import { type AccessGrant, grantsInForce, readGrants, withoutPast } from '../../policy/published/access-grants.ts'
import type { Resources } from '../../resources/resource.ts'
import { StoreUnavailable } from '../../store/errors.ts'
import type { GrantStatement, PolicyVersions } from '../../store/policy-versions.ts'

const LOOK_MS = 300
/** What was read is looked at again so often, because a clock may have been set. */
const AGAIN_MS = 30_000
/** After its end a grant is kept for a day, so that nobody asks without end. */
const KEPT_MS = 24 * 60 * 60 * 1000
const MOST_ATTEMPTS = 10

export interface FollowGrantsOptions {
  readonly versions: Pick<PolicyVersions, 'grantTextsAfter' | 'addGrantText' | 'home'>
  readonly resources: Resources
  readonly policy: Pick<LivePolicy, 'giveRoles'>
  /** The files of the last version that was found valid. */
  readonly inForce: () => PolicyFiles | undefined
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** A grant is in force, or is no longer. */
  readonly report: (grant: AccessGrant) => void
}

/** Roles for a time, as this instance follows them. */
export interface AccessRequests {
  /** Of the version in force; undefined where it has no approvals.yaml. */
  readonly approvals: Approvals | undefined
  /** Those that ended within a day, or have not ended, by number. */
  of(caller: string): readonly AccessGrant[]
  /** How many requests wait for approvals, of all callers. */
  readonly waiting: number
  /** Its number. `make` is called when all that was said before is known. Throws what it throws, and StoreUnavailable. */
  add(make: (database: string) => string): Promise<number>
}

export class GrantFollower implements AccessRequests {
  readonly #options: FollowGrantsOptions
  readonly #timer: NodeJS.Timeout
  #statements: readonly GrantStatement[] = []
  /** The one that was read last. */
  #last: GrantStatement | undefined
  /** Something was read that has not been judged: the database may have failed in between. */
  #mustJudge = false
  #database: string | undefined
  /** The text of the file that was looked at last, and what it says. */
  #file: string | undefined
  #approvals: Approvals | undefined
  #grants: readonly AccessGrant[] = []
  #lookedAt = Number.NEGATIVE_INFINITY
  #reported = new Map<number, AccessGrant['state']>()
  /** One look after the other: each begins where the one before it ended. */
  #queue: Promise<unknown> = Promise.resolve()
  #waitingLook = false

  constructor(options: FollowGrantsOptions) {
    this.#options = options
    this.#timer = setInterval(() => {
      if (this.#waitingLook) return
      this.#waitingLook = true
      // A database that doesn't answer is reported by the follower of versions.
      this.look()
        .catch(() => {})
        .finally(() => {
          this.#waitingLook = false
        })
    }, LOOK_MS)
    this.#timer.unref()
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#queue
  }

  get approvals(): Approvals | undefined {
    return this.#approvals
  }

  get waiting(): number {
    return this.#grants.filter(({ state }) => state === 'waiting').length
  }

  of(caller: string): readonly AccessGrant[] {
    const now = this.#options.now()
    const own = this.#grants.filter(({ to, until }) => to === caller && now - KEPT_MS < Date.parse(until))
    const hasEnded = ({ state, until }: AccessGrant) => state !== 'revoked' && Date.parse(until) <= now
    return own.map((one) => (hasEnded(one) ? { ...one, state: 'ended' } : one))
  }

  add(make: (database: string) => string): Promise<number> {
    return this.#inTurn(async () => {
      const { versions } = this.#options
      const { id } = await versions.home()
      for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
        await this.#look()
        const number = (this.#last?.number ?? 0) + 1
        if (!(await versions.addGrantText({ number, signed: make(id) }))) continue
        await this.#look()
        return number
      }
      throw new StoreUnavailable(new Error('others keep writing'))
    })
  }

  /** Rejects with StoreUnavailable. */
  look(): Promise<void> {
    return this.#inTurn(() => this.#look())
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#queue.then(work)
    this.#queue = done.catch(() => {})
    return done
  }

  async #look(): Promise<void> {
    const text = this.#options.inForce()?.['approvals.yaml']?.text
    if (text !== this.#file) {
      this.#approvals = this.#readApprovals()
      this.#mustJudge = true
    }
    this.#file = text
    if (text !== undefined) await this.#readMore()
    const isLate = performance.now() - this.#lookedAt > AGAIN_MS && this.#statements.length > 0
    if (this.#mustJudge || isLate) await this.#judge()
  }

  async #readMore(): Promise<void> {
    for (let more = await this.#page(); more.length > 0; more = await this.#page()) {
      this.#last = more.at(-1)
      this.#statements = withoutPast([...this.#statements, ...more], this.#options.now() - KEPT_MS)
      this.#mustJudge = true
    }
  }

  /**
   * Those after the last one that was read. If that one is no longer there, somebody has deleted rows, and another one may
   * have got its number: all are read again, and what was read before still counts.
   */
  async #page(): Promise<readonly GrantStatement[]> {
    const { versions } = this.#options
    const last = this.#last
    if (!last) return versions.grantTextsAfter(0)
    const [found, ...more] = await versions.grantTextsAfter(last.number - 1)
    if (found?.number === last.number && found.signed === last.signed) return more
    this.#last = undefined
    return versions.grantTextsAfter(0)
  }

  #readApprovals(): Approvals | undefined {
    const files = this.#options.inForce()
    try {
      return files && approvalsOf(files, this.#options.resources)
    } catch (error) {
      // The version was judged with these schemas, so this is not expected; without the file, nobody has a role more.
      if (error instanceof FileError) return undefined
      throw error
    }
  }

  async #judge(): Promise<void> {
    const { versions, now, policy } = this.#options
    this.#database ??= (await versions.home()).id
    const world = { approvals: this.#approvals, database: this.#database, now: now() }
    const grants = readGrants(this.#statements, world)
    this.#grants = grants
    policy.giveRoles(grantsInForce(grants))
    this.#lookedAt = performance.now()
    this.#mustJudge = false
    this.#report(grants)
  }

  #report(grants: readonly AccessGrant[]): void {
    for (const grant of grants) {
      const before = this.#reported.get(grant.number)
      const wasInForce = before === 'in force'
      if (grant.state !== before && (grant.state === 'in force' || wasInForce)) this.#options.report(grant)
    }
    this.#reported = new Map(grants.map(({ number, state }) => [number, state]))
  }
}

export function logGrants(log: Logger): (grant: AccessGrant) => void {
  return ({ number, kind, role, to, until, state, reason }) => {
    const about = { grant: number, role, subject: to, until, reason }
    const name = kind === 'break-glass' ? 'a role was given by break-glass' : 'a role was given for a time'
    if (state !== 'in force') log.info({ ...about, state }, 'a role for a time is no longer in force')
    else if (kind === 'break-glass') log.warn(about, name)
    else log.info(about, name)
  }
}
