/** Whether the schema takes what an object would become. */
import type { Proposal } from '../../policy/permits.ts'
import { Problem } from '../../problems/problem.ts'

export function isFit({ refuseUnfit }: Proposal): boolean {
  try {
    refuseUnfit()
    return true
  } catch (error) {
    if (error instanceof Problem) return false
    throw error
  }
}
