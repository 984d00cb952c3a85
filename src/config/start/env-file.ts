/**
 * The file `.env` of a project: every command but `ci` reads it as `node --env-file-if-exists` does, so that a server
 * and the commands beside it have the same settings. A variable of the environment wins, even an empty one.
 */

import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import type { Variables } from '../../base/command-process.ts'
import { systemReason } from '../../base/files/system-reason.ts'
import { ConfigError } from '../values.ts'

const ENV_FILE = '.env'
const MOST_BYTES = 1024 * 1024

/**
 * Variables that say to other programs what to run, or where they find it. Programs that a command starts, like git, have
 * its environment, and the file can be part of a change that somebody only wants to look at.
 */
const OF_PROGRAMS =
  /^(?:(?:LD|DYLD|NODE|GIT|NPM|OPENSSL|XDG|BASH)_.*|PATH|SHELL|ENV|HOME|USERPROFILE|COMSPEC|GCONV_PATH)$/i

/**
 * What PostgreSQL's driver adds to a connection: a user's own password must not go to a database that the file names,
 * nor the file lead a connection of the user's elsewhere.
 */
const OF_POSTGRESQL = /^PG[A-Z]+$/i
/** These read other files of the user. */
const FILES_OF_POSTGRESQL = /^PG(?:PASSFILE|SERVICE|SERVICEFILE|SYSCONFDIR|SSL\w+)$/i
/** No file, so that the driver doesn't read the passwords in the user's home. */
const NO_PASSWORDS = '/dev/null/none'

/** What the file of the folder says; empty without one, and outside of a project. Throws ConfigError. */
export function readEnvFile(folder: string): Readonly<Record<string, string>> {
  const file = join(folder, ENV_FILE)
  try {
    const found = statSync(file, { throwIfNoEntry: false })
    // Others have a folder of this name.
    if (!found?.isFile() || !isProject(folder)) return {}
    if (found.size > MOST_BYTES) throw new ConfigError(`${ENV_FILE} is larger than 1 MiB; make it smaller`)
    return parseEnv(readFileSync(file, 'utf8')) as Readonly<Record<string, string>>
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
    const fault = `${ENV_FILE} can't be read (${systemReason(code)})`
    if (code !== 'EACCES') throw new ConfigError(`${fault}; make it a file that can be read`)
    throw new ConfigError(`${fault}; let this user read it`, `chmod u+r ${ENV_FILE}`)
  }
}

/** All but OF_PROGRAMS. Throws ConfigError. */
export function addEnvFile(environment: Variables, folder: string): void {
  const file = readEnvFile(folder)
  const namesDatabase = file.DATABASE_URL !== undefined && environment.DATABASE_URL === undefined
  if (namesDatabase) {
    for (const name of Object.keys(environment)) if (OF_POSTGRESQL.test(name)) delete environment[name]
    environment.PGPASSFILE = NO_PASSWORDS
  }
  for (const [name, value] of Object.entries(file)) {
    if (!OF_PROGRAMS.test(name) && mayNameOf(name, namesDatabase)) environment[name] ??= value
  }
}

function mayNameOf(name: string, namesDatabase: boolean): boolean {
  if (!OF_POSTGRESQL.test(name) || name === 'PGPASSWORD') return true
  return namesDatabase && !FILES_OF_POSTGRESQL.test(name)
}

/** Its package.json names this program. The `.env` of any other folder belongs to other programs. */
function isProject(folder: string): boolean {
  try {
    const { dependencies, devDependencies } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    return Object.hasOwn({ ...dependencies, ...devDependencies }, 'sallyport')
  } catch {
    return false
  }
}
