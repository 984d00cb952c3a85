/** Looks at a database file beside its server. */
import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { type Checked, faulted, passed, unchecked, warned } from '../../../base/problems/checked.ts'
import { shellWord } from '../../../base/problems/fix.ts'
import { StoreUnavailable } from '../../errors.ts'
import type { Examined } from '../../object-reader.ts'
import { type StoredKeys, storedKeys } from '../../signing-keys.ts'
import { hasTable, layoutOf, refuseLaterLayout } from '../layout/migrate.ts'
import { DIALECT, StatementRunner } from '../statements.ts'
import { FileBeside } from './file-beside.ts'
import { lockHoldersOf, restoring } from './fix-of-file.ts'

const CHECK = 'database'

/** A larger file takes longer than a check may: `data check` looks at it. */
const LARGEST_CHECKED = 64 * 2 ** 20
/** A server shortens its write-ahead log long before. */
const LARGE_WAL = 64 * 2 ** 20

/** Throws errors of the contract. */
export async function examineSqlite(file: string): Promise<Examined> {
  if (file !== ':memory:' && !isUsable(file)) {
    return examined([passed(CHECK, `there is no ${file} yet; the first start makes it`)])
  }
  const beside = new FileBeside(file)
  try {
    const keys = await beside.read(readKeys)
    return examined([...(await beside.read((database) => lookAt(database, file))), ...sideFiles(file)], keys)
  } finally {
    beside.close()
  }
}

/** Whether the file is there. Throws StoreUnavailable where this user may not do with it what a server does. */
function isUsable(file: string): boolean {
  try {
    // Unlike existsSync, it doesn't take a closed folder for an empty one.
    const exists = statOf(file) !== undefined
    accessSync(existing(file), constants.W_OK | constants.X_OK)
    const files = exists ? [file, `${file}-wal`, `${file}-shm`].filter((one) => existsSync(one)) : []
    for (const one of files) accessSync(one, constants.R_OK | constants.W_OK)
    return exists
  } catch (error) {
    throw new StoreUnavailable(error)
  }
}

function statOf(file: string): unknown {
  try {
    return statSync(file)
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}

/** The first folder above that is there: SQLite makes files in it, or a start makes the folder. */
function existing(file: string): string {
  const above = dirname(resolve(file))
  return above === resolve(file) || statSync(above, { throwIfNoEntry: false }) ? above : existing(above)
}

function examined(checks: readonly Checked[], keys?: StoredKeys): Examined {
  return { checks, keys }
}

function lookAt(database: DatabaseSync, file: string): readonly Checked[] {
  refuseLaterLayout(database)
  const { size } = statSync(file)
  const opened = `${file} opens: layout ${layoutOf(database)}, ${mebibytes(size)}`
  return [passed(CHECK, opened), integrity(database, file, size), rights(file)]
}

function integrity(database: DatabaseSync, file: string, size: number): Checked {
  if (size > LARGEST_CHECKED) {
    return unchecked(CHECK, `${file} is too large to check its integrity here: \`sallyport data check\` looks at it`)
  }
  const found = database.prepare('pragma quick_check(1)').get()?.quick_check
  if (found === 'ok') return passed(CHECK, 'its pages are intact')
  return faulted(CHECK, `${file} is damaged (${found}); restore an archive of it`, restoring(file))
}

function rights(file: string): Checked {
  if ((statSync(file).mode & 0o077) === 0) return passed(CHECK, 'only its owner can read it')
  return warned(CHECK, `others can read ${file}`, `chmod 600 ${shellWord(file)}`)
}

function sideFiles(file: string): readonly Checked[] {
  const wal = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0
  const holders = lockHoldersOf(file)?.all
  const open = holders === undefined || holders.length === 0 ? [] : [passed(CHECK, openText(holders))]
  if (wal <= LARGE_WAL) return open
  return [...open, warned(CHECK, `its write-ahead log has ${mebibytes(wal)}; restart what keeps reading ${file}`)]
}

function openText(pids: readonly number[]): string {
  const here = pids.filter((pid) => pid > 0)
  return here.length === 0 ? 'another container has it open' : `it is open in the process ${here.join(', ')}`
}

function readKeys(database: DatabaseSync): StoredKeys | undefined {
  return hasTable(database, 'signing_keys') ? new StatementRunner(database).run(storedKeys(DIALECT)) : undefined
}

function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`
}
