/** Judges changes that people have approved: in a thread, so that no request waits, but for those that only block. */
import { judgeApproved, onlyBlocks } from '../../analysis/approvals/judge.ts'
import { FileError } from '../../base/diagnostic.ts'
import type { ApprovedChange, JudgeChange } from '../../policy/published/version-chain.ts'
import type { Resources } from '../../resources/resource.ts'
import { Comparer, type ComparerOptions } from './comparer.ts'

/** Several versions may come one after another. */
const IDLE_MS = 1000

export class ChangeJudge {
  readonly #comparer: Comparer
  readonly #resources: Resources
  /** One change after the other. */
  #turn: Promise<unknown> = Promise.resolve()
  #idle: NodeJS.Timeout | undefined

  constructor(options: ComparerOptions, resources: Resources) {
    this.#comparer = new Comparer(options)
    this.#resources = resources
  }

  readonly judge: JudgeChange = async (change) => {
    // A block must not wait for a thread that starts.
    if (onlyBlocks(change)) return judgeApproved(change, this.#resources)
    const turn = this.#turn.then(() => this.#judgeApart(change))
    this.#turn = turn.catch(() => {})
    return turn
  }

  async #judgeApart(change: ApprovedChange): ReturnType<JudgeChange> {
    clearTimeout(this.#idle)
    try {
      return await this.#comparer.judge(change)
    } catch (error) {
      if (error instanceof FileError) throw error
      return {
        code: 'approval-unjudged',
        message: `can't be judged here: ${(error as Error).message}`,
        hint: 'it is tried again every ten seconds; give the machine more memory, or time',
      }
    } finally {
      this.#idle = setTimeout(() => void this.#comparer.end(), IDLE_MS).unref()
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle)
    await this.#comparer.end()
  }
}
