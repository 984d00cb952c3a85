/**
 * The only value that a store's write methods accept. A permit holds the very object that was checked. Only
 * src/decide/permits.ts issues permits (test/architecture.test.ts), so a handler that doesn't ask can't compile.
 */

import type { Document } from '../resources/object.ts'
import type { Json } from '../resources/resource.ts'
import type { Condition } from './condition.ts'

type Values = Readonly<Record<string, Json>>

/** What a decision looked at, so that it can be made again without the store. A field that an object lacks is null. */
export interface Facts {
  /** The caller's attributes that rules compare. */
  readonly attributes?: Values
  /** Of the object as it was stored: the fields that relations compare, and indexed ones. */
  readonly object?: Values
  /** The same of the object as the write would leave it. */
  readonly proposed?: Values
  /** Fields that the write would change. */
  readonly changed?: readonly string[]
  /** Fields that the body names, and those that a PUT would remove unread. */
  readonly named?: readonly string[]
  /** Fields that a patch reads. */
  readonly read?: readonly string[]
  /** Fields that a PUT would remove where they are stored: those that it doesn't name, and that the caller may write. */
  readonly removed?: readonly string[]
  /** Fields that a list is filtered and sorted by. */
  readonly queried?: readonly string[]
  /** Fields that the rows of a list are cut to. */
  readonly selected?: readonly string[]
  /** Fields that every row of a list shows. */
  readonly everywhere?: readonly string[]
  /** Which objects a list may hold. */
  readonly where?: Condition
  /** Fields that a read shows; of a list, those that some row may show. */
  readonly shown?: readonly string[]
}

/** What a decision rests on, for the decision record. */
export interface Evidence {
  /** The relations between the caller and the object, where there is one. */
  readonly relations: readonly string[]
  /** Lines of policy.csv that matched. */
  readonly lines: readonly number[]
  readonly fieldsRefused: readonly string[]
  readonly facts: Facts
}

export type PermitKind = 'create' | 'update' | 'delete'

interface Checked<K extends PermitKind> {
  readonly kind: K
  readonly resource: string
  readonly id: string
  /** The version that the decision was made on; 0 for a create. */
  readonly version: number
  /** What to write; empty for a delete. */
  readonly document: Document
  readonly evidence: Evidence
}

class IssuedPermit<K extends PermitKind> {
  // A private name makes the type nominal: no object literal fits it.
  readonly #checked: Checked<K>

  constructor(checked: Checked<K>) {
    this.#checked = checked
  }

  get kind(): K {
    return this.#checked.kind
  }
  get resource(): string {
    return this.#checked.resource
  }
  get id(): string {
    return this.#checked.id
  }
  get version(): number {
    return this.#checked.version
  }
  get document(): Document {
    return this.#checked.document
  }
  get evidence(): Evidence {
    return this.#checked.evidence
  }
}

export type Permit<K extends PermitKind> = IssuedPermit<K>

export function issuePermit<K extends PermitKind>(checked: Checked<K>): Permit<K> {
  return new IssuedPermit(checked)
}
