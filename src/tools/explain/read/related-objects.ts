/** Reads the objects on which relations rest. Which ones are asked for is only known while the request is explained. */
import type { KnownFacts } from '../../../decide/relations/relation-kind.ts'
import { represent, type Scalar } from '../../../resources/object.ts'
import type { Representation, Resources } from '../../../resources/resource.ts'
import type { ObjectReader } from '../../../store/object-reader.ts'

/** The limit of objects with which one object is related. */
const MOST_RELATED = 1000

type Related = KnownFacts['related']

interface Sought {
  readonly resource: string
  readonly by: string
  readonly values: readonly Scalar[]
}

/** Interrupts work that asks for objects which haven't been read yet. */
class Unread extends Error {
  readonly sought: Sought

  constructor(sought: Sought) {
    super(`objects of ${sought.resource} haven't been read yet`)
    this.sought = sought
  }
}

/** The work can't wait for the database: what it asks for is read, and it starts again. It must have no effects. */
export async function withRelated<T>(
  reader: ObjectReader,
  resources: Resources,
  work: (related: Related) => T,
): Promise<T> {
  const found = new Map<string, ReturnType<Related>>()
  const related: Related = (resource, by, values) => {
    const key = keyOf({ resource, by, values })
    if (!found.has(key)) throw new Unread({ resource, by, values })
    return found.get(key)
  }
  for (;;) {
    try {
      return work(related)
    } catch (error) {
      if (!(error instanceof Unread)) throw error
      found.set(keyOf(error.sought), await read(reader, resources, error.sought))
    }
  }
}

function keyOf({ resource, by, values }: Sought): string {
  return JSON.stringify([resource, by, values])
}

/** Undefined, so not known, if there are more than anybody would read. */
async function read(
  reader: ObjectReader,
  { byName }: Resources,
  { resource: name, by, values }: Sought,
): Promise<readonly Representation[] | undefined> {
  const resource = byName.get(name)
  const found = resource ? await reader.find(resource, by, values, MOST_RELATED + 1) : []
  return found.length > MOST_RELATED ? undefined : found.map(represent)
}
