/**
 * A process that writes groups of nine, one of which is refused, until it is stopped or the store fails: it says on stdout what
 * was acknowledged, an id a line, and last `failed <error's name>` for each write of the group that failed. Arguments: the file, and
 * `here` or `thread`: what writes.
 */
import { writeSync } from 'node:fs'
import type { WritePlace } from '../../src/store/contract.ts'
import { openSqlite } from '../../src/store/sqlite/open.ts'
import { creation, RESOURCES, UNFIT_RECORD } from './fixture.ts'

const PADDING = 'x'.repeat(2000)

/** What a thread writes is refused by the engine too: a record that is unfit could not even be sent. */
const REFUSED = { here: { record: UNFIT_RECORD, why: 'TypeError' }, thread: { record: 'taken', why: 'UniqueTaken' } }

const [, , file = '', writer = 'here'] = process.argv as [string, string, string?, WritePlace?]
const { store } = await openSqlite({ file, writer, resources: RESOURCES, now: () => new Date() })
let failed = false

for (let group = 1; !failed; group += 1) {
  const accepted = Array.from({ length: 8 }, (_, n) => `g${group}-${n}`)
  await Promise.all([...accepted, `refused${group}`].map(write))
}

async function write(id: string): Promise<void> {
  const refused = id.startsWith('refused')
  const { record, why } = refused ? REFUSED[writer] : { record: id, why: 'nothing' }
  const stored = refused && writer === 'thread' ? id.replace('refused', 'g').concat('-0') : id
  try {
    await store.create(creation(stored, { padding: PADDING }), { record })
    writeSync(1, `${id}\n`)
  } catch (error) {
    const { name, cause } = error as Error
    if (name === why || String(cause).startsWith(why)) return
    failed = true
    writeSync(1, `failed ${name}\n`)
  }
}
