/**
 * The file `.env` of a project: every command reads it as `node --env-file-if-exists` does, so that a server and the
 * commands beside it have the same settings. A variable of the environment wins, even an empty one.
 */
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { ConfigError } from '../values.ts'

const ENV_FILE = '.env'
const MOST_BYTES = 1024 * 1024

type Environment = Record<string, string | undefined>

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
    throw new ConfigError(`${ENV_FILE} can't be read (${code}); let this user read it`, `chmod u+r ${ENV_FILE}`)
  }
}

export function addEnvFile(environment: Environment, folder: string): void {
  for (const [name, value] of Object.entries(readEnvFile(folder))) environment[name] ??= value
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
