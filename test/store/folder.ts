/** A folder of its own for a database file, and SQLite opened on it behind the store's back. */
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Resources } from '../../src/resources/resource.ts'
import type { WritePlace } from '../../src/store/contract.ts'
import type { ReadBounds } from '../../src/store/lists/read-bounds.ts'
import { openSqlite } from '../../src/store/sqlite/open.ts'
import { workOf } from '../../src/store/sqlite/query/work.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { type Opened, RESOURCES } from './fixture.ts'

interface Setup {
  readonly resources?: Resources
  readonly indexFields?: ReadonlyMap<string, readonly string[]>
  readonly now?: () => Date
  readonly writer?: WritePlace
  readonly reads?: ReadBounds
}

export class Folder {
  folder = ''
  file = ''
  #opened: { close(): unknown }[] = []

  /** For each test of the suite another one. */
  static ofEach(): Folder {
    const folder = new Folder()
    beforeEach(() => folder.#make())
    afterEach(() => folder.remove())
    return folder
  }

  static async make(): Promise<Folder> {
    const folder = new Folder()
    await folder.#make()
    return folder
  }

  async #make(): Promise<void> {
    this.folder = await mkdtemp(path.join(tmpdir(), 'sallyport-store-'))
    this.file = path.join(this.folder, 'data.sqlite')
    this.#opened = []
  }

  async open(setup: Setup = {}): Promise<Opened> {
    const opened = await openSqlite({ file: this.file, resources: RESOURCES, now: () => new Date(), ...setup })
    this.#opened.push(opened.store)
    return opened
  }

  /** A connection to the same file, as another process has it. */
  raw(): DatabaseSync {
    const database = new DatabaseSync(this.file)
    // The statements of lists use functions of the program.
    workOf(database)
    this.#opened.push({ close: () => database.isOpen && database.close() })
    return database
  }

  async remove(): Promise<void> {
    for (const one of this.#opened) await one.close()
    await removeFolder(this.folder)
  }
}
