/** Asks git, without a shell, about the repository that holds a folder. Nothing is written and nothing is fetched. */
import { type ExecFileException, execFile } from 'node:child_process'
import { ReviewError } from '../load-policy.ts'

export type GitAnswer =
  | { readonly kind: 'answer'; readonly bytes: Buffer }
  | { readonly kind: 'refused'; readonly reason: string }

/** A policy of 10,000 rules has less than a megabyte. */
const MOST_BYTES = 64 * 1024 * 1024

/** What a hook sets would point git at another repository than the folder's. */
const OF_A_HOOK: readonly string[] = ['GIT_DIR', 'GIT_WORK_TREE', 'GIT_INDEX_FILE', 'GIT_PREFIX']

/** Throws ReviewError where git is missing. */
export function askGit(folder: string, ...args: readonly string[]): Promise<GitAnswer> {
  const environment = Object.entries(process.env).filter(([name]) => !OF_A_HOOK.includes(name))
  const env = { ...Object.fromEntries(environment), LC_ALL: 'C', GIT_NO_LAZY_FETCH: '1' }
  const options = { env, maxBuffer: MOST_BYTES, encoding: 'buffer' } as const
  return new Promise((resolve, reject) => {
    execFile('git', ['-C', folder, ...args], options, (error, stdout, stderr) => {
      if (!error) resolve({ kind: 'answer', bytes: stdout })
      else if (error.code === 'ENOENT') reject(new ReviewError('git is not installed; name a directory instead'))
      else resolve({ kind: 'refused', reason: reasonOf(error, stderr) })
    })
  })
}

/** The first line that git says, without what it says it is. */
function reasonOf(error: ExecFileException, stderr: Buffer): string {
  const [first = ''] = stderr.toString('utf8').split('\n')
  return first.replace(/^(fatal|error): /, '') || error.message
}
