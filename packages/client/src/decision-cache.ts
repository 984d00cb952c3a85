/** Decisions that may be used again for a short time, and no longer than the policy that made them is in force. */
import type { Decision } from './entities.ts'

interface Kept {
  readonly decision: Decision
  readonly until: number
}

/** Of a question as JSON; longer ones are always asked. */
const MOST_KEY_LENGTH = 4096

const MOST_DEPTH = 32

/** Milliseconds of a clock that never goes back. */
type Clock = () => number

export class DecisionCache {
  readonly #kept = new Map<string, Kept>()
  readonly #lifetimeMs: number
  readonly #most: number
  readonly #now: Clock
  #revision: string | undefined
  /** Counts the changes of the revision: an answer to a question of before says nothing about now. */
  #changes = 0

  constructor({ seconds, most }: { readonly seconds: number; readonly most: number }, now: Clock = monotonicMs) {
    this.#lifetimeMs = seconds * 1000
    this.#most = most
    this.#now = now
  }

  get(question: string): Decision | undefined {
    const kept = this.#kept.get(question)
    if (kept === undefined) return undefined
    this.#kept.delete(question)
    if (kept.until <= this.#now()) return undefined
    this.#kept.set(question, kept)
    return kept.decision
  }

  /** Before a question is asked; `keep` and `noteRevision` take what comes back. */
  begin(): { readonly changes: number; readonly at: number } {
    return { changes: this.#changes, at: this.#now() }
  }

  /** Forgets all decisions if the policy is another one than before. */
  noteRevision(begun: { readonly changes: number }, revision: string | undefined): void {
    if (revision === undefined || revision === this.#revision || begun.changes !== this.#changes) return
    if (this.#revision !== undefined) {
      this.#kept.clear()
      this.#changes++
    }
    this.#revision = revision
  }

  /** Its time begins when the question was asked. */
  keep(begun: { readonly changes: number; readonly at: number }, question: string, decision: Decision): void {
    if (begun.changes !== this.#changes || question.length > MOST_KEY_LENGTH) return
    if (!freeze(decision, MOST_DEPTH)) return
    this.#kept.delete(question)
    this.#kept.set(question, { decision, until: begun.at + this.#lifetimeMs })
    if (this.#kept.size <= this.#most) return
    const [oldest] = this.#kept.keys()
    if (oldest !== undefined) this.#kept.delete(oldest)
  }
}

function monotonicMs(): number {
  return performance.now()
}

/** Many callers get the same one. False if it is nested too deeply. */
function freeze(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (depth === 0) return false
  Object.freeze(value)
  return Object.values(value).every((one) => freeze(one, depth - 1))
}
