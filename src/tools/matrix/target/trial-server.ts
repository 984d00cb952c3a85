/** The stage in this process: a throw-away server whose store takes objects without asking the policy. */
import { randomUUID } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { Document } from '../../../resources/object.ts'
import { type Seeding, UniqueTaken } from '../../../store/contract.ts'
import type { Column } from '../read/expectation.ts'
import { ask } from './http.ts'
import { type Caller, CannotSetUp, type Stage, type Wish } from './server-under-test.ts'

/** A server on a temporary data folder, without rate limits. */
interface TrialServer {
  readonly url: string
  readonly seeding: Pick<Seeding, 'insert'>
  /** A token that this server accepts. */
  token(subject: string, roles: readonly string[]): Promise<string>
  stop(): Promise<void>
}

/** Starts one with these policies and schemas. Throws what a start throws. */
export type StartTrialServer = (folders: {
  readonly policies: string
  readonly schemas: string
}) => Promise<TrialServer>

type Known = Exclude<Column, { kind: 'anonymous' }>

/** For cells that share a server: a caller `user:<id>` may be another cell's as well. */
export function createTrialStage(server: Trying): Stage {
  return trialStage(server, ({ kind }) => kind !== 'user')
}

/** For one cell alone: nobody else is anybody there. */
export function createLoneStage(server: Trying): Stage {
  return trialStage(server, () => true)
}

type Trying = Pick<TrialServer, 'url' | 'seeding' | 'token'>

function trialStage({ url, seeding, token }: Trying, isFresh: (column: Known) => boolean): Stage {
  const put = createInserts(seeding)
  const somebody = randomUUID()
  const caller = async (column: Known): Promise<Caller> => {
    const id = column.kind === 'user' ? column.id : randomUUID()
    const roles = column.kind === 'user' ? [] : column.roles
    return { id, token: await token(id, roles), fresh: isFresh(column) }
  }
  return {
    url,
    strangers: () => [somebody],
    caller,
    async callerWithRecord(column, resource, make) {
      const made = await caller(column)
      const object = make(made.id)
      await put({ resource, object })
      return { caller: made, object, made: true }
    },
    async put(wish) {
      await put(wish)
      return wish.object
    },
    ask,
    note: async () => {},
  }
}

/** What is put in one turn of the event loop is one transaction a resource. */
function createInserts(seeding: Pick<Seeding, 'insert'>): (wish: Wish) => Promise<void> {
  let waiting: Wish[] = []
  let flushed: Promise<ReadonlyMap<string, Promise<void>>> | undefined
  const flush = async () => {
    await setImmediate()
    const groups = Map.groupBy(waiting, ({ resource }) => resource)
    waiting = []
    flushed = undefined
    return new Map([...groups].map(([resource, some]) => [resource, seeding.insert(resource, some.map(stored))]))
  }
  return async (wish) => {
    waiting.push(wish)
    flushed ??= flush()
    const together = (await flushed).get(wish.resource)
    // One value that is taken undoes all of them, so each is tried for itself.
    await together?.catch((error) => insertAlone(seeding, wish, error))
  }
}

/** Throws CannotSetUp, and `before` where something else than a taken value was in the way of the wish. */
async function insertAlone(seeding: Pick<Seeding, 'insert'>, wish: Wish, before: unknown): Promise<void> {
  if (!(before instanceof UniqueTaken)) throw before
  await seeding.insert(wish.resource, [stored(wish)]).catch((error) => {
    if (!(error instanceof UniqueTaken)) throw error
    throw new CannotSetUp(
      `no further value was found for the unique field \`${error.field}\` of ${wish.resource}; give its schema more \`examples\``,
    )
  })
}

/** The server's own times apply. */
function stored({ object: { id, createdAt: _, updatedAt: __, ...document } }: Wish): {
  id: string
  document: Document
} {
  return { id: String(id), document }
}
