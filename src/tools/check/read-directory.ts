/** The ids of the users that exist, from a text file (one a line) or from a Sallyport database, which is only read. */
import { readFile } from 'node:fs/promises'
import { systemReason } from '../../base/files/system-reason.ts'
import { USERS } from '../../decide/policy.ts'
import type { Resources } from '../../resources/resource.ts'
import { type Database, databaseOfFile } from '../../store/open.ts'
import { ToolError } from '../load-policy.ts'
import { withReader } from '../read-database.ts'

/** Throws ToolError. */
export async function readDirectory(file: string, resources: Resources): Promise<ReadonlySet<string>> {
  const database = await databaseOfFile(file).catch(({ code, message }: NodeJS.ErrnoException) => {
    const why = code === undefined ? message : systemReason(code)
    throw new ToolError(`the directory \`${file}\` can't be read: ${why}`)
  })
  return database ? fromDatabase(database, resources) : fromText(file, await readFile(file))
}

async function fromDatabase(database: Database, { byName }: Resources): Promise<ReadonlySet<string>> {
  const { name: file } = database
  const users = byName.get(USERS)
  if (!users)
    throw new ToolError(
      `no schema declares \`${USERS}\`, so the database \`${file}\` has no users: give a text file with ids`,
    )
  return withReader(database, (reader) => reader.ids(users))
}

function fromText(file: string, bytes: Buffer): ReadonlySet<string> {
  const lines = decode(file, bytes).split(/\r?\n/)
  const prefixed = lines.findIndex((line) => line.startsWith('user:'))
  if (prefixed >= 0) throw new ToolError(`line ${prefixed + 1} of \`${file}\` starts with \`user:\`: write only the id`)
  return new Set(lines.filter((line) => line !== ''))
}

function decode(file: string, bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new ToolError(
      `the directory \`${file}\` is neither UTF-8 text nor a database of the server: write one id a line`,
    )
  }
}
