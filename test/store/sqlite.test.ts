import type { WritePlace } from '../../src/store/contract.ts'
import { openSqlite } from '../../src/store/sqlite/open.ts'
import { openSqliteReader } from '../../src/store/sqlite/reader/reader.ts'
import { ThreadPart } from '../../src/store/sqlite/thread/thread.ts'
import { WRITER } from '../../src/store/sqlite/thread/threaded-store.ts'
import { soak } from '../runs.ts'
import { storeContract } from './contract.ts'
import type { TestDatabase } from './engine.ts'
import type { Opened } from './fixture.ts'
import { Folder } from './folder.ts'

/** Keeps the thread from ending between two tests: a start of it takes longer than most of them. */
let kept: ThreadPart
before(() => {
  kept = new ThreadPart(
    WRITER,
    { file: 'no such file', identity: 'none', content: { kind: 'instances' } },
    () => new Date(),
  )
})
after(() => kept.close())

// What lists and lookups find is the same code for a file and in memory, where it is fastest.
const RANDOM_IN_FILES = soak(0.1, 0)

storeContract({ name: 'SQLite in a file', keeps: 'shared', share: RANDOM_IN_FILES, create: () => createFile('here') })
storeContract({
  name: 'SQLite in a file that a thread writes',
  keeps: 'shared',
  share: RANDOM_IN_FILES,
  migrates: false,
  create: () => createFile('thread'),
})
storeContract({ name: 'SQLite in memory', keeps: 'private', create: createMemory })

async function createFile(writer: WritePlace): Promise<TestDatabase> {
  const folder = await Folder.make()
  return {
    open: (setup) => folder.open({ writer, ...setup }),
    openReader: () => openSqliteReader(folder.file),
    damage: async (id, text) => {
      const database = folder.raw()
      database.prepare('update "objects_^Things" set document = ? where id = ?').run(text, id)
      database.close()
    },
    remove: () => folder.remove(),
  }
}

async function createMemory(): Promise<TestDatabase> {
  let opened: Opened | undefined
  return {
    open: async (setup) => {
      opened = await openSqlite({ file: ':memory:', ...setup })
      return opened
    },
    remove: async () => opened?.store.close(),
  }
}
