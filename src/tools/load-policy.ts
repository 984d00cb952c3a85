/** Reads and parses a policy directory as the server does, without a running server. */
import { stat } from 'node:fs/promises'
import type { SourceFile } from '../base/diagnostic.ts'
import type { Policy } from '../decide/policy.ts'
import { type Blocked, parseBlocked } from '../policy/parse/parse-blocked.ts'
import { parsePolicy } from '../policy/parse/parse-policy.ts'
import { type PolicyFiles, readPolicy } from '../policy/policy-files.ts'
import type { Resources } from '../resources/resource.ts'

export interface LoadedPolicy {
  readonly policy: Policy
  readonly blocked: Blocked
  readonly files: PolicyFiles
  readonly blockedFile: SourceFile
}

/** Throws FileError for files that the server would refuse, and ToolError if there is no such directory. */
export async function loadPolicy(directory: string, resources: Resources): Promise<LoadedPolicy> {
  await refuseNoDirectory(directory)
  const { files, blocked: blockedFile } = await readPolicy(directory)
  return { policy: parsePolicy(files, resources), blocked: parseBlocked(blockedFile), files, blockedFile }
}

/** Without this check, a missing directory would look like a policy with seven missing files. Throws ToolError. */
export async function refuseNoDirectory(directory: string): Promise<void> {
  const found = await stat(directory).catch(() => undefined)
  if (!found?.isDirectory()) throw new ToolError(`${directory} is not a directory: name a directory of policy files`)
}

/** A command can't do its work with this input. The message is one sentence for its user; the exit code is 2. */
export class ToolError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ToolError'
  }
}
