/** The ids of stored objects that meet a condition, in the order of ids. */
import type { Condition } from '../../../decide/conditions/condition.ts'
import type { ReadBy, Store } from '../../../store/contract.ts'

export async function idsAfter(
  store: Pick<Store, 'list'>,
  { resource, where, by }: { readonly resource: string; readonly where: Condition; readonly by: ReadBy },
  after: string | undefined,
  limit: number,
): Promise<readonly string[]> {
  const found = await store.list(resource, { where, limit, ...(after === undefined ? {} : { after: [after] }) }, by)
  return found.map(({ id }) => id)
}
