/** Reads and parses a policy as the server does, without a running server: a directory, or a published version. */

import { stat } from 'node:fs/promises'
import { FileError, type SourceFile } from '../base/diagnostic.ts'
import { systemReason } from '../base/files/system-reason.ts'
import type { RoleGrants } from '../decide/caller.ts'
import type { Policy } from '../decide/policy.ts'
import { DATABASE_POLICIES, versionNamed } from '../identity/keys/published-settings.ts'
import { type Blocked, parseBlocked } from '../policy/parse/parse-blocked.ts'
import { parsePolicy } from '../policy/parse/parse-policy.ts'
import { type PolicyFiles, readInPlace } from '../policy/policy-files.ts'
import type { PolicyReading } from '../policy/policy-source.ts'
import type { Resources } from '../resources/resource.ts'

export interface LoadedPolicy {
  readonly policy: Policy
  readonly blocked: Blocked
  readonly files: PolicyFiles
  readonly blockedFile: SourceFile
}

/** Where a policy is read from: a directory, or a database. */
export type PolicyPlace = string | PublishedPlace

export interface PublishedPlace {
  /** As the user wrote it: `database:`, or with a number or a revision. */
  readonly name: string
  /** Only versions whose signature is valid. Rejects with FileError, ToolError, ConfigError or KeyError. */
  read(): Promise<PolicyReading>
  /** The policy that an instance named by this revision; undefined if no version is of this revision. */
  readRevision(revision: string): Promise<PolicyReading | undefined>
  /** Undefined if the history has no such version. */
  readPast(wanted: PastVersion): Promise<PolicyReading | undefined>
  /** The roles that callers have for a time, at a time in milliseconds since the epoch. */
  roleGrants(now: number): Promise<RoleGrants>
}

/** A version by its number, or the one that was in force at a time, in milliseconds since the epoch. */
export type PastVersion = { readonly number: number } | { readonly at: number }

/** Throws FileError for files that the server would refuse, and ToolError if there is no such directory or version. */
export async function loadPolicy(place: PolicyPlace, resources: Resources): Promise<LoadedPolicy> {
  return parseReading(await readPlace(place), resources)
}

/** Throws FileError for files that the server would refuse. */
export function parseReading(reading: PolicyReading, resources: Resources): LoadedPolicy {
  const [files, blockedFile] = [reading.files(), reading.blocked()]
  return { policy: parsePolicy(files, resources), blocked: parseBlocked(blockedFile), files, blockedFile }
}

/** The files, whether or not a server would accept them. Throws ToolError if there is no such directory or version. */
export async function readPlace(place: PolicyPlace): Promise<PolicyReading> {
  if (typeof place !== 'string') return place.read()
  await refuseNoDirectory(place)
  return readInPlace(place)
}

/** Without this check, a missing directory would look like a policy with seven missing files. Throws ToolError. */
export async function refuseNoDirectory(directory: string, of: 'policy' | 'schema' = 'policy'): Promise<void> {
  const found = await stat(directory).catch(() => undefined)
  if (found?.isDirectory()) return
  if (versionNamed(directory) !== undefined) {
    throw new ToolError(
      `${directory} is not a directory, which this command needs: ` +
        `write the version to one with \`sallyport policy export DIR --from ${directory}\``,
    )
  }
  if (!directory.startsWith(DATABASE_POLICIES)) {
    throw new ToolError(`${directory} is not a directory: name a directory of ${of} files`)
  }
  throw new ToolError(
    `${directory} is neither a directory nor a published version: write \`${DATABASE_POLICIES}\` for the last version, ` +
      `or \`${DATABASE_POLICIES}\` with a number or a revision of \`policy history\``,
  )
}

/** What `otherwise` makes of the faults of files, where `work` throws FileError. */
export async function orFaults<T, F>(
  work: () => T | Promise<T>,
  otherwise: (faults: FileError) => F | Promise<F>,
): Promise<T | F> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof FileError) return otherwise(error)
    throw error
  }
}

/** A command can't do its work with this input. The message is one sentence for its user; the exit code is 2. */
export class ToolError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ToolError'
  }
}

const NO_FOLDER: ReadonlySet<string | undefined> = new Set(['EEXIST', 'ENOTDIR'])

/** Throws ToolError in place of the system's error, which doesn't say what to do. */
export async function orTell<T>(folder: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write()
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException
    if (syscall === undefined) throw error
    const why = NO_FOLDER.has(code) ? 'a file is in its place' : systemReason(code)
    throw new ToolError(
      `${folder} can't be written (${why}), and nothing was changed: name another directory, or fix it`,
    )
  }
}
