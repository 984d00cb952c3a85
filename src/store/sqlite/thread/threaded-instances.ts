/** What instances share beside the store, in a server: reads here, changes by the thread. */
import type { InstanceDatabase } from '../../sql/instances.ts'
import { identityOf } from '../probe.ts'
import { WriterPart } from './writer.ts'

export function changedInThread(here: InstanceDatabase, file: string): InstanceDatabase {
  const opening = { file, identity: identityOf(file), content: { kind: 'instances' } } as const
  const part = new WriterPart(opening, () => new Date())
  const thread = part.remote<InstanceDatabase>('instances')
  return {
    dialect: here.dialect,
    ask: (statement) => here.ask(statement),
    look: (statement) => here.look(statement),
    change: (...statements) => thread.change(...statements),
    make: (work) => here.make(work),
    close: async () => {
      await part.close()
      await here.close()
    },
  }
}
