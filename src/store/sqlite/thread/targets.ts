/** What the thread does for its server. All that is given and returned is plain data. */
import type { Lookup } from '../../../decide/conditions/condition.ts'
import type { Permit } from '../../../decide/permits/permit.ts'
import type { CreateOptions, WriteOptions } from '../../contract.ts'
import { type Assembled, touch } from '../engine.ts'

export type StoreTargets = ReturnType<typeof storeTargets>

/** Methods as they are called from another thread. */
export type Remote<T> = {
  readonly [M in keyof T]: T[M] extends (...args: infer A) => infer R ? (...args: A) => Promise<Awaited<R>> : never
}

export function storeTargets({ engine, opened: { store, seeding, outbox, directory } }: Assembled) {
  const { counters } = engine
  return {
    /** The server knows the objects that it writes, so none is sent back. */
    objects: {
      create: async (permit: Permit<'create'>, options: CreateOptions): Promise<void> => {
        await store.create(permit, options)
      },
      /** The time of the object's creation. */
      update: async (permit: Permit<'update'>, options: WriteOptions) =>
        (await store.update(permit, options)).createdAt,
      delete: (permit: Permit<'delete'>, options: WriteOptions) => store.delete(permit, options),
      lookupAfter: (permit: Permit<'create'> | Permit<'update'>, lookup: Lookup) => store.lookupAfter(permit, lookup),
      secret: (name: string) => store.secret(name),
      probe: () => engine.sql.write(touch),
    },
    seeding,
    outbox,
    directory,
    counters,
    part: { close: () => store.close() },
  }
}
