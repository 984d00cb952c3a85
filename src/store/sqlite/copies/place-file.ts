/** Puts the copy of a database file into its place. */
import { createWriteStream, existsSync } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { pipeline } from 'node:stream/promises'
import { type DatabasePlace, lastNumberBefore, NotACopy, OccupiedDatabase } from '../../copies.ts'
import { StoreUnavailable, UnfitDatabase } from '../../errors.ts'
import { inTransaction } from '../database.ts'
import { refuseLaterLayout } from '../layout/migrate.ts'
import { FILE_PART, refuseDamage } from './copy-file.ts'

/** The folder of the file must exist. Throws OccupiedDatabase if the file exists. */
export async function placeSqlite(file: string): Promise<DatabasePlace> {
  if (existsSync(file)) throw new OccupiedDatabase(`the database ${file} exists already`)
  let finished = false
  return {
    async take(name, content) {
      if (name !== FILE_PART) throw new NotACopy(`a copy of this engine has no part \`${name}\``)
      await pipeline(content, createWriteStream(file, { flags: 'wx', mode: 0o600, flush: true }))
    },
    async finish() {
      if (!existsSync(file)) throw new NotACopy(`the part \`${FILE_PART}\` is missing`)
      prepare(file)
      await using handle = await open(file, 'r+')
      await handle.sync()
      finished = true
    },
    async abandon() {
      if (!finished) for (const side of ['', '-wal', '-shm']) await rm(file + side, { force: true })
    },
  }
}

function prepare(file: string): void {
  const database = openCopy(file)
  try {
    refuseLaterLayout(database)
    inTransaction(database, () => {
      database.exec('delete from leases')
      const seq = Number(database.prepare("select seq from sqlite_sequence where name = 'outbox'").get()?.seq ?? 0)
      database.exec("delete from sqlite_sequence where name = 'outbox'")
      database.prepare("insert into sqlite_sequence (name, seq) values ('outbox', ?)").run(lastNumberBefore(seq))
    })
  } catch (error) {
    throw error instanceof UnfitDatabase ? error : new StoreUnavailable(error)
  } finally {
    database.close()
  }
}

function openCopy(file: string): DatabaseSync {
  const database = new DatabaseSync(file)
  try {
    refuseDamage(database)
    return database
  } catch (error) {
    database.close()
    throw new NotACopy(`the part \`${FILE_PART}\` is no whole database (${(error as Error).message})`)
  }
}
