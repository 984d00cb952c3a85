/** What a form of answer can't say: collected while a condition is translated, and told all at once. */

import { type FieldFault, Problem } from '../../../base/problems/problem.ts'

export class Unsayable {
  readonly #reasons = new Set<string>()

  /** Says why. The translation goes on, so that everything is found at once; its result must not be used. */
  add(reason: string): 'false' {
    this.#reasons.add(reason)
    return 'false'
  }

  get reasons(): readonly string[] {
    return [...this.#reasons]
  }
}

/** `pointer`: the member of the body that can't be met. */
export function unsayableProblem(reasons: readonly string[], pointer: string): Problem {
  const errors = reasons.map((detail): FieldFault => ({ pointer, detail, code: 'unsayable' }))
  return new Problem('filter-unsayable', 'The filter cannot be said in this form; do what `errors` says.', { errors })
}
