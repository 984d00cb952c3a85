/** The commands of docs/backup.md for PostgreSQL, run as printed. */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

const PAGE = new URL('../../docs/backup.md', import.meta.url)

/** In a folder with `policies/` and `schemas/`. Resolves with what they printed. */
export const backUpPostgres = (folder: string, url: string) => runBlock(0, folder, { DATABASE_URL: url })

/** In a folder with the files of `backUpPostgres`. `empty`: the URL of a database without tables. */
export const restorePostgres = (folder: string, empty: string) => runBlock(1, folder, { RESTORED: empty })

async function runBlock(at: number, folder: string, env: Readonly<Record<string, string>>): Promise<string> {
  const [, section = ''] = (await readFile(PAGE, 'utf8')).split('\n## PostgreSQL\n')
  const commands = [...section.matchAll(/```sh\n([^`]*)```/g)][at]?.[1] ?? ''
  const options = { cwd: folder, env: { ...process.env, ...env } }
  return (await promisify(execFile)('bash', ['-ec', commands], options)).stdout
}
