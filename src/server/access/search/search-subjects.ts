/** The candidates of a subject search: the people of the directory, by id. */
import { USERS } from '../../../decide/policy.ts'
import type { Store } from '../../../store/contract.ts'
import type { Asker } from '../asker.ts'
import { type Candidates, NO_CANDIDATES } from './candidates.ts'
import { idsAfter } from './ids-after.ts'
import type { SubjectSearch } from './search-request.ts'

export function subjectsFor(asker: Asker, store: Pick<Store, 'list'>, search: SubjectSearch): Candidates {
  const { resources, trust } = asker
  const { subject, page: _, ...rest } = search
  // Only the directory can be walked through: other subjects are known by what a service says of them.
  const isOfDirectory = trust.subjects.get(subject.type)?.kind === 'directory'
  if (!isOfDirectory || !resources.byName.has(USERS)) return NO_CANDIDATES
  return async (after, most) => {
    const ids = await idsAfter(store, { resource: USERS, where: { kind: 'always' }, by: asker }, after, most)
    return ids.map((id) => {
      const result = { type: subject.type, id }
      return { key: id, evaluation: { ...rest, subject: result }, result }
    })
  }
}
