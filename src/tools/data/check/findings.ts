/**
 * What `data check` finds, with its stable codes: counted by resource and reason, with the first ids. Its size is bounded,
 * however much is found.
 */
import { byText } from '../../../base/by-text.ts'

/** What is wrong, without the object: objects with equal reasons are counted together. */
export interface Reason {
  readonly code: DataCode
  /** A JSON Pointer to the value; `*` stands for any position of a list. */
  readonly pointer?: string
  /** The keyword of the schema that refuses the value. */
  readonly keyword?: string
  /** One sentence, without the value. */
  readonly message: string
}

export interface DataFinding extends Reason {
  readonly resource: string
  readonly objects: number
  /** The first, sorted. Empty where none is known. */
  readonly ids: readonly string[]
  readonly hint: string
}

/** Free members of objects could make as many reasons as there are objects. */
const MOST_REASONS = 100
export const MOST_IDS = 10

interface Tallied {
  readonly finding: Omit<DataFinding, 'objects' | 'ids'>
  readonly ids: string[]
  objects: number
}

export class FindingTally {
  readonly #counted = new Map<string, Tallied>()
  readonly #reasons = new Map<string, number>()
  #more = 0

  /** `ids`: at least the first ones of the objects. */
  add(resource: string, reason: Reason, ids: readonly string[], objects = ids.length): void {
    const counted = this.#countedAs(resource, reason)
    if (!counted) {
      this.#more += objects
      return
    }
    counted.objects += objects
    counted.ids.push(...ids.slice(0, MOST_IDS - counted.ids.length))
  }

  get findings(): readonly DataFinding[] {
    const all = [...this.#counted.values()].map(({ finding, objects, ids }) => ({ ...finding, objects, ids }))
    return all.toSorted((one, other) => byText(one.resource, other.resource) || other.objects - one.objects)
  }

  /** How many findings are in no list, because there are too many reasons. */
  get more(): number {
    return this.#more
  }

  #countedAs(resource: string, reason: Reason): Tallied | undefined {
    const key = JSON.stringify([resource, reason.code, reason.pointer, reason.keyword, reason.message])
    const known = this.#counted.get(key)
    if (known) return known
    const reasons = this.#reasons.get(resource) ?? 0
    if (reasons === MOST_REASONS) return undefined
    this.#reasons.set(resource, reasons + 1)
    const made: Tallied = {
      finding: { resource, ...reason, hint: DATA_CODES[reason.code] },
      ids: [],
      objects: 0,
    }
    this.#counted.set(key, made)
    return made
  }
}

// What `data check` finds: stable codes, and what to do about each. docs/changing-schemas.md lists them.

export const DATA_CODES = {
  'document-not-json': 'restore the row from a backup, or delete it in the database',
  'document-not-object': 'restore the row from a backup, or delete it in the database',
  'document-name-twice': 'write the object again with PUT, or keep one of the members in the database',
  'version-invalid': 'set the version of the row to a whole number from 1 on in the database',
  'schema-misfit': 'migrate the objects, or let the schema accept them',
  'reference-dangling': 'let the field name an object that exists, or remove the value',
  'user-missing': 'add the user, or give the object to a user that exists',
  'roles-apart': 'take away one of the roles; revoke such a key, and make keys with one of the roles each',
  'too-many-with-role':
    'take the role from some of them: `sallyport user list` and `sallyport key list` show who has it',
  'value-shared': 'give the objects different values, or remove `x-unique`',
  'index-disagrees': 'write the object again, for example with a PATCH that changes a field',
  'index-broken': 'stop the server, and let the engine make the index again (docs/changing-schemas.md)',
  'schema-gone': 'bring the schema back, or delete the objects in the database',
} as const

type DataCode = keyof typeof DATA_CODES
