/** The errors of a store, whichever engine keeps the objects. */
import { type AtMost, atMostSentence } from '../decide/role-guarantees.ts'

class StoreError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
  }
}

/** What a name of a field never has: fields that are unique together are named as one. */
const TOGETHER = '+'

export function togetherName(fields: readonly string[]): string {
  return fields.join(TOGETHER)
}

export class UniqueTaken extends StoreError {
  /** Of fields that are unique together: `togetherName`. */
  readonly field: string
  constructor(field: string) {
    super(`another object has this value in the unique field \`${field}\``)
    this.field = field
  }

  get fields(): readonly string[] {
    return this.field.split(TOGETHER)
  }
}

export class StaleObject extends StoreError {
  constructor() {
    super('the object changed after it was read')
  }
}

/** An object was already created under this idempotency key. */
export class ReplayTaken extends StoreError {
  constructor() {
    super('the idempotency key is taken')
  }
}

/** The stored data can't be migrated to the layout of this program and its resources; the message says what to do. */
export class UnfitDatabase extends StoreError {}

/**
 * The store holds data that this program didn't write. Trying again doesn't help. `what` names the data with its id.
 * The error has no cause, because a parser's message would show a part of the document.
 */
export class DamagedObject extends StoreError {
  constructor(what: string) {
    super(`${what} is damaged: repair or delete its row in the database`)
  }
}

/** Others wait for the transaction, so it was undone. */
export class TransactionTooLong extends StoreError {
  constructor() {
    super('the transaction took too long')
  }
}

/** The engine can't answer: closed, locked, full, unreachable. */
export class StoreUnavailable extends StoreError {
  constructor(cause: unknown) {
    super('the store is not available', { cause })
  }

  /** For messages: the engine's own words. */
  get why(): string {
    return this.cause instanceof Error ? this.cause.message : String(this.cause)
  }
}

/** A list, or a question about related objects, would look at too many objects. Trying again doesn't help. */
export class ReadTooLong extends StoreError {
  constructor(cause?: unknown) {
    super('the read looks at too many objects', { cause })
  }
}

/** Too many reads that take long are under way: of this caller, or of all. */
export class TooManyReads extends StoreError {
  constructor() {
    super('too many reads that take long are under way')
  }
}

/** The write would give a role to more people than a guarantee of the policy allows. */
export class TooManyPeople extends StoreError {
  readonly role: string
  readonly people: number
  constructor(broken: AtMost) {
    super(atMostSentence(broken))
    this.role = broken.role
    this.people = broken.people
  }
}

/** Another process migrates: this one didn't renew its lease in time. Nothing of the batch is stored. */
export class LeaseLost extends StoreError {
  constructor() {
    super('another process migrates this database')
  }
}

/** A migrated object that can't be stored as it would be. Nothing of its batch is stored. */
export class UnfitObject extends StoreError {
  readonly resource: string
  readonly id: string
  readonly reason: string
  constructor(resource: string, id: string, reason: string) {
    super(`\`${id}\` of \`${resource}\` does not fit: ${reason}`)
    this.resource = resource
    this.id = id
    this.reason = reason
  }
}

const KINDS = [
  UniqueTaken,
  StaleObject,
  ReplayTaken,
  UnfitDatabase,
  DamagedObject,
  StoreUnavailable,
  ReadTooLong,
  TooManyReads,
  TooManyPeople,
  LeaseLost,
  UnfitObject,
]

/** The class with this name, if the caller of a store expects its errors. */
export function kindNamed(name: string): (typeof KINDS)[number] | undefined {
  return KINDS.find((kind) => kind.name === name)
}

/** Whether the caller of a store expects such an error. */
export function isOfContract(error: unknown): error is Error {
  return KINDS.some((kind) => error instanceof kind)
}

/** Opens, does the work and closes, whatever becomes of it. `explained`: the error for a store that isn't available. */
export async function whileOpen<Opened extends { close(): unknown }, T>(
  open: () => Promise<Opened>,
  work: (opened: Opened) => Promise<T>,
  explained: (error: StoreUnavailable) => Error | Promise<Error> = (error) => error,
): Promise<T> {
  try {
    const opened = await open()
    try {
      return await work(opened)
    } finally {
      await opened.close()
    }
  } catch (error) {
    throw error instanceof StoreUnavailable ? await explained(error) : error
  }
}
