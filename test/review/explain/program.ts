/** `sallyport policy explain` as main.ts runs it: what it prints, and the sentence that it ends with where it can't run. */
import { commandRun } from '../../settings.ts'

export interface Ended {
  readonly failed: boolean
  readonly stdout: string
  readonly stderr: string
}

export interface Folders {
  readonly policies: string
  readonly schemas: string
  readonly database: string
}

const ROOT = new URL('../../../', import.meta.url)

export const SHIPPED: Folders = {
  policies: new URL('policies', ROOT).pathname,
  schemas: new URL('schemas', ROOT).pathname,
  database: '/nowhere/sallyport.db',
}

/** In this process, one at a time: a process of its own takes far longer than the explanation. */
export async function run(folders: Folders, args: readonly string[]): Promise<Ended> {
  const { stdout, error } = await explain(folders, args)
  if (error === undefined) return { failed: false, stdout, stderr: '' }
  return { failed: true, stdout, stderr: `${error.name}: ${error.message}` }
}

export async function exitCodeOf(folders: Folders, args: readonly string[]): Promise<number> {
  return (await explain(folders, args)).code
}

function explain(folders: Folders, args: readonly string[]) {
  return commandRun(['policy', 'explain', ...args], folders)
}
