/** Puts the demo's data into an empty store, and keeps demo data and real data apart. */
import { v7 as uuidv7 } from 'uuid'
import { againWith } from '../../../base/problems/mend.ts'
import type { Resources } from '../../../resources/resource.ts'
import type { Seeding } from '../../../store/contract.ts'
import type { Directory } from '../../../store/directory.ts'
import { DEMO_CALLERS, DEMO_PASSWORD_HASH, demoDocuments } from './demo-data.ts'

const KIND = 'data'
const SEEDED = 'demo-seeded'

/** Its message is one sentence for whoever started the server. */
class DemoRefused extends Error {
  readonly mend: string
  constructor(message: string, mend: string) {
    super(message)
    this.name = 'DemoRefused'
    this.mend = mend
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
