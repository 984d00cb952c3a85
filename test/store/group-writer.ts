/**
 * A process that writes groups of nine, one of which is refused, until it is stopped or the store fails: it says on stdout what
 * was acknowledged, an id a line, and last `failed <error's name>` for each write of the group that failed. Argument: the file.
 */
import { writeSync } from 'node:fs'
import { openSqlite } from '../../src/store/sqlite/open.ts'
import { creation, RESOURCES, UNFIT_RECORD } from './fixture.ts'

const PADDING = 'x'.repeat(2000)

const { store } = await openSqlite({ file: process.argv[2] ?? '', resources: RESOURCES, now: () => new Date() })
let failed = false

for (let group = 1; !failed; group += 1) {
  const accepted = Array.from({ length: 8 }, (_, n) => `g${group}-${n}`)
  await Promise.all([...accepted, `refused${group}`].map(write))
}

async function write(id: string): Promise<void> {
  try {
    await store.create(creation(id, { padding: PADDING }), { record: id.startsWith('refused') ? UNFIT_RECORD : id })
    writeSync(1, `${id}\n`)
  } catch (error) {
    if (((error as Error).cause as Error) instanceof TypeError) return
    failed = true
    writeSync(1, `failed ${(error as Error).name}\n`)
  }
}
