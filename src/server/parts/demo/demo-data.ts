/** The callers and objects of the demo: enough to see every rule of the shipped policy at work. */
import type { Document } from '../../../resources/object.ts'

export interface DemoCaller {
  /** The id, and the name. */
  readonly id: string
  readonly roles: readonly string[]
}

export const DEMO_CALLERS: readonly DemoCaller[] = [
  { id: 'alice', roles: ['member'] },
  { id: 'bob', roles: ['member'] },
  { id: 'sam', roles: ['support'] },
  { id: 'audrey', roles: ['auditor'] },
  { id: 'ada', roles: ['admin'] },
]

export const DEMO_PASSWORD = 'sallyport-demo'

/**
 * The hash of that well-known password, computed in advance so that no start waits for it
 * (test/identity/sign-in.test.ts checks that they match).
 */
export const DEMO_PASSWORD_HASH =
  '$scrypt$ln=15,r=8,p=3$OiYGcY4yVoKIcwE3aTcgDQ$pAfQJc3bcT2OAO8WeTc+dFHIBC7n2l9iJlIisZly3BY'

/** The address with which a demo caller signs in. */
export function demoEmail(id: string): string {
  return `${id}@example.com`
}

const PROFILES: Readonly<Record<string, Document>> = {
  alice: { displayName: 'Alice', bio: 'Keeps bees.', department: 'sales' },
  bob: { displayName: 'Bob', bio: 'Builds boats.', department: 'engineering' },
  sam: { displayName: 'Sam', bio: 'Happy to help.', department: 'support' },
  audrey: { displayName: 'Audrey', bio: 'Reads everything.', department: 'finance' },
  ada: { displayName: 'Ada', bio: 'Runs the place.', department: 'operations' },
}

/** The owners of notes and orders in the demo; audrey only reads. */
const OWNERS = ['alice', 'bob', 'sam', 'ada']

/** By resource; objects without an id of their own get one from the server. */
export function demoDocuments(): Readonly<Record<string, readonly { id?: string; document: Document }[]>> {
  return {
    users: DEMO_CALLERS.map(({ id, roles }) => ({
      id,
      document: { email: demoEmail(id), ...PROFILES[id], roles },
    })),
    notes: OWNERS.flatMap((ownerId) => [
      { document: { ownerId, title: 'Shopping list', body: 'Apples, bread, candles.', tags: ['home'] } },
      { document: { ownerId, title: `A secret of ${ownerId}'s`, body: 'Nobody else can read this.' } },
    ]),
    orders: OWNERS.flatMap((customerId) => [
      { document: order(customerId, 'draft', [{ sku: 'KEY-1', quantity: 2, unitPrice: 450 }]) },
      { document: order(customerId, 'placed', [{ sku: 'LOCK-7', quantity: 1, unitPrice: 2900 }]) },
    ]),
    accounts: OWNERS.map((userId, i) => ({
      document: { userId, name: 'Main', currency: 'EUR', balance: 100_000 + i * 2_500 },
    })),
  }
}

function order(customerId: string, status: string, items: Document['items'] & object): Document {
  return { customerId, status, currency: 'EUR', items }
}
