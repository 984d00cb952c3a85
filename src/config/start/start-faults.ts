/** What keeps a server from starting, as the faults of its settings: its data folder, database, log and ports. */

import { access, constants } from 'node:fs/promises'
import { createServer } from 'node:net'
import { fixOfPath } from '../../base/files/fix-path.ts'
import { makeFolder } from '../../base/files/make-folder.ts'
import { systemReason } from '../../base/files/system-reason.ts'
import { againWith, shellWord } from '../../base/problems/fix.ts'
import { NotALog } from '../../decision-log/log-file.ts'
import { withoutSecrets } from '../../present/without-secrets.ts'
import type { StoreUnavailable } from '../../store/errors.ts'
import { type Database, fixOfDatabase, settingsOf } from '../../store/open.ts'
import { ConfigError } from '../values.ts'

/** Makes the folder if it is missing. Throws ConfigError. */
export async function openDataFolder(folder: string): Promise<void> {
  try {
    await makeFolder(folder)
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    throw dataFolderFault(folder, error as NodeJS.ErrnoException)
  }
}

export function dataFolderFault(folder: string, { code }: NodeJS.ErrnoException): ConfigError {
  return new ConfigError(
    `DATA_DIR is \`${withoutSecrets(folder)}\`, which can't be used by user ${process.getuid?.() ?? ''} (${systemReason(code)}); set it to a writable folder`,
    fixOfPath(folder, code, againWith('DATA_DIR', '"$HOME/sallyport-data"')),
  )
}

// A database that can't be opened.

export async function databaseFault(database: Database, error: StoreUnavailable): Promise<ConfigError> {
  return new ConfigError(
    `the database ${database.name} can't be opened (${error.why}); check ${settingsOf(database)}`,
    await fixOfDatabase(database, error),
  )
}

// The file of the decision log, which can't be written, or isn't one.

export function decisionLogFault(file: string, error: unknown): ConfigError {
  if (error instanceof NotALog) {
    const fault = `${error.message}; set DECISION_LOG_FILE to another file, or to - for standard output`
    return new ConfigError(fault, `mv ${shellWord(file)} ${shellWord(`${file}.before`)}`)
  }
  const { code } = error as NodeJS.ErrnoException
  return new ConfigError(
    `the decision log ${withoutSecrets(file)} can't be written (${systemReason(code)}); set DECISION_LOG_FILE to another file`,
    fixOfPath(file, code === 'EISDIR' ? 'EEXIST' : code) ?? againWith('DECISION_LOG_FILE', '-'),
  )
}

// A port that can't be opened, and one that can.

export interface ListeningPlace {
  /** The setting. */
  readonly name: 'PORT' | 'ADMIN_PORT' | 'CONSOLE_PORT'
  readonly port: number
  readonly host: string
}

/** Below it, a port needs rights that a server shouldn't have. */
const FIRST_FREE = 1024
/** So many ports are tried. */
const NEXT = 50

export async function portFault(
  { name, port, host }: ListeningPlace,
  { code }: NodeJS.ErrnoException,
): Promise<ConfigError> {
  const why = code === 'EADDRINUSE' ? `${code}, another program has it` : code
  const fault = `${name} ${port} of ${withoutSecrets(host)} can't be opened (${why}); choose another port or host`
  if (code !== 'EADDRINUSE' && code !== 'EACCES') {
    return new ConfigError(fault, againWith(name.replace('PORT', 'HOST'), '127.0.0.1'))
  }
  const free = await nextFree(port < FIRST_FREE ? port + 8000 : port + 1, host)
  return new ConfigError(fault, againWith(name, free))
}

async function nextFree(first: number, host: string): Promise<number> {
  for (let port = first; port < Math.min(first + NEXT, 65_536); port += 1) {
    if ((await faultOfPort(port, host)) === undefined) return port
  }
  return 0
}

/** The system's error; undefined for a port that is free. */
export function faultOfPort(port: number, host: string): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    const server = createServer().once('error', resolve)
    server.listen(port, host, () => server.close(() => resolve(undefined)))
  })
}
