/**
 * The demo: its callers and objects, enough to see every rule of the shipped policy at work; how they get into an
 * empty store, apart from real data; and what `npm start` prints.
 */
import { v7 as uuidv7 } from 'uuid'
import { againWith } from '../../base/problems/fix.ts'
import type { Document } from '../../resources/object.ts'
import type { Resources } from '../../resources/resource.ts'
import type { Seeding } from '../../store/contract.ts'
import type { Directory } from '../../store/directory.ts'

const KIND = 'data'
const SEEDED = 'demo-seeded'

/** Its message is one sentence for whoever started the server. */
class DemoRefused extends Error {
  readonly fix: string
  constructor(message: string, fix: string) {
    super(message)
    this.name = 'DemoRefused'
    this.fix = fix
  }
}

/**
 * Without `--demo`: refuses demo data, because everybody knows its callers, and marks the data as real. Throws
 * DemoRefused.
 */
export async function claimForProduction(seeding: Seeding): Promise<void> {
  const kind = await seeding.readMark(KIND)
  if (kind === 'demo') {
    throw new DemoRefused(
      'the data folder holds demo callers, whose names everybody knows; start with --demo, or change DATA_DIR',
      'sallyport serve --demo',
    )
  }
  if (kind === undefined) await seeding.writeMark(KIND, 'own')
}

/** With `--demo`: fills an empty store, once. Throws DemoRefused for a store that holds data of its own. */
export async function claimForDemo(seeding: Seeding, directory: Directory, resources: Resources): Promise<void> {
  const kind = await seeding.readMark(KIND)
  if (kind === 'own') {
    const fault = 'the data folder holds data of its own; start without --demo, or change DATA_DIR'
    throw new DemoRefused(fault, againWith('DATA_DIR', 'demo-data'))
  }
  // Writes the mark first, so that the next start completes a demo whose start was interrupted.
  await seeding.writeMark(KIND, 'demo')
  if ((await seeding.readMark(SEEDED)) === undefined) await seed(seeding, resources)
  await letIn(directory)
}

async function seed(seeding: Seeding, resources: Resources): Promise<void> {
  for (const [name, objects] of Object.entries(demoDocuments())) {
    if (resources.byName.has(name) && (await seeding.count(name)) === 0) {
      await seeding.insert(
        name,
        objects.map(({ id, document }) => ({ id: id ?? uuidv7(), document })),
      )
    }
  }
  await seeding.writeMark(SEEDED, 'yes')
}

/** The existing callers who never had a password, also those of an earlier version. */
async function letIn(directory: Directory): Promise<void> {
  for (const { id } of DEMO_CALLERS) {
    const person = await directory.person(id)
    if (person && !person.account) await directory.setPassword(id, { hash: DEMO_PASSWORD_HASH, oneTime: false })
  }
}

interface DemoCaller {
  /** The id, and the name. */
  readonly id: string
  readonly roles: readonly string[]
}

const DEMO_CALLERS: readonly DemoCaller[] = [
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
function demoEmail(id: string): string {
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
function demoDocuments(): Readonly<Record<string, readonly { id?: string; document: Document }[]>> {
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

interface Welcomed {
  readonly url: string
  /** Undefined without a console. */
  readonly consoleUrl: string | undefined
  /** The shell command that starts sallyport. */
  readonly program: string
}

export function welcome({ url, consoleUrl, program }: Welcomed): string {
  const tokenOf = (id: string) => {
    const roles = DEMO_CALLERS.find((caller) => caller.id === id)?.roles ?? []
    return [program, 'token', '--subject', id, ...roles.flatMap((role) => ['--role', role])].join(' ')
  }
  const callers = DEMO_CALLERS.map(({ id, roles }) => `${id} (${roles.join(', ')})`)
  const others = DEMO_CALLERS.map(({ id }) => id).filter((id) => id !== 'alice')
  const page = `Open ${consoleUrl}/ in a browser, and sign in as ${demoEmail('ada')} with ${DEMO_PASSWORD}.\n\n`
  return `${consoleUrl === undefined ? '' : page}Sallyport listens on ${url}

Demo callers: ${callers.join(', ')}

In a second terminal, in this folder: alice lists her notes, and nobody else's.

curl -s ${url}/api/v1/notes -H "Authorization: Bearer $(${tokenOf('alice')})"

Tokens of the others, for an hour each:

${others.map(tokenOf).join('\n')}

Each caller also signs in (POST /api/tokens) as ${demoEmail('<name>')} with the password ${DEMO_PASSWORD}.
`
}
