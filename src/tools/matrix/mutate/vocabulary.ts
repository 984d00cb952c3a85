/** The names that a policy declares, for mistakes that write one name for another. */
import type { Policy } from '../../../decide/policy.ts'

export interface Vocabulary {
  readonly roles: readonly string[]
  viewsOf(resource: string): readonly string[]
}

export function vocabularyOf({ roles, views }: Policy): Vocabulary {
  return { roles: [...roles.keys()], viewsOf: (resource) => [...(views.get(resource)?.keys() ?? [])] }
}
