/** What an object would become, or that the schema refuses it: the body is applied as the server's handlers do. */
import type { Proposal } from '../../policy/permits.ts'
import { Problem } from '../../problems/problem.ts'

/** Undefined for 400. */
export function proposalOf(propose: () => Proposal): Proposal | undefined {
  try {
    return propose()
  } catch (error) {
    if (error instanceof Problem) return undefined
    throw error
  }
}
