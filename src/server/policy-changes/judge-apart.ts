/** Judges changes that people have approved: in a thread, so that no request waits, but for those that only block. */
import { judgeApproved, onlyBlocks } from '../../analysis/approvals/judge.ts'
import { FileError } from '../../base/diagnostic.ts'
import type { JudgeChange } from '../../policy/published/version-chain.ts'
import type { Resources } from '../../resources/resource.ts'
import type { Comparer } from './comparer.ts'

export function judgeApart(comparer: Comparer, resources: Resources): JudgeChange {
  return async (change) => {
    // A block must not wait for a thread that starts.
    if (onlyBlocks(change)) return judgeApproved(change, resources)
    try {
      return await comparer.judge(change)
    } catch (error) {
      if (error instanceof FileError) throw error
      return {
        code: 'approval-unjudged',
        message: `can't be judged here: ${(error as Error).message}`,
        hint: 'it is tried again every ten seconds; give the machine more memory, or time',
      }
    }
  }
}
