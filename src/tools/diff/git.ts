/** Runs git without a shell, and without what the environment of a git hook would make it look at. */

import { type ExecFileException, execFile } from 'node:child_process'
import { environment } from '../../base/command-process.ts'
import { ToolError } from '../load-policy.ts'

type GitAnswer =
  | { readonly kind: 'answer'; readonly bytes: Buffer }
  | { readonly kind: 'refused'; readonly reason: string }

interface GitInput {
  /** The file of the index, if it isn't the usual one. */
  readonly index?: string | undefined
  /** For its standard input. */
  readonly input?: Buffer
}

/** A policy of 10,000 rules has less than a megabyte. */
const MOST_BYTES = 64 * 1024 * 1024

/** Variables of a git hook would make git look into another repository. */
const HOOK_VARIABLES: readonly string[] = ['GIT_DIR', 'GIT_WORK_TREE', 'GIT_INDEX_FILE', 'GIT_PREFIX']

/** Fetches nothing. Throws ToolError if git is missing. */
export function askGit(folder: string, args: readonly string[], { index, input }: GitInput = {}): Promise<GitAnswer> {
  const others = Object.entries(environment()).filter(([name]) => !HOOK_VARIABLES.includes(name))
  const env = { ...Object.fromEntries(others), LC_ALL: 'C', GIT_NO_LAZY_FETCH: '1' }
  const withIndex = index === undefined ? env : { ...env, GIT_INDEX_FILE: index }
  const options = { env: withIndex, maxBuffer: MOST_BYTES, encoding: 'buffer' } as const
  return new Promise((resolve, reject) => {
    const git = execFile('git', ['-C', folder, ...args], options, (error, stdout, stderr) => {
      if (!error) resolve({ kind: 'answer', bytes: stdout })
      else if (error.code === 'ENOENT') reject(new ToolError('git is not installed: install it, or name a directory'))
      else resolve({ kind: 'refused', reason: reasonOf(error, stderr) })
    })
    // A git that ends before it has read everything says why itself.
    git.stdin?.on('error', () => undefined).end(input)
  })
}

/** The id of a commit. A name that begins with a dash is never an option. */
export async function commitOf(folder: string, revision: string): Promise<string | undefined> {
  const asked = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{commit}`]
  const answer = await askGit(folder, asked)
  return answer.kind === 'answer' ? gitText(answer).trim() : undefined
}

export function gitText(answer: Extract<GitAnswer, { kind: 'answer' }>): string {
  return answer.bytes.toString('utf8')
}

/** The first line of git's error output, without its prefix. */
function reasonOf(error: ExecFileException, stderr: Buffer): string {
  const [first = ''] = stderr.toString('utf8').split('\n')
  return first.replace(/^(fatal|error): /, '') || error.message
}
