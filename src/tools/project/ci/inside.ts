/** Keeps a job inside its checkout: a pull request may make any of its folders and files a link. */
import { realpath } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { isWithin, workTreeOf } from '../../../base/files/project-file.ts'
import { ToolError } from '../../load-policy.ts'

/** Throws ToolError where no `.git` says how far a file's links may lead. `folder`: a path without links. */
export async function refuseWithoutGit(folder: string): Promise<void> {
  if (await workTreeOf(folder)) return
  throw new ToolError(
    'this folder is in no git work tree, so nothing tells which links lead out of it: install git on the runner ' +
      'before the step `actions/checkout`',
  )
}

/**
 * Throws ToolError for a path inside of `top` that leads out of it by a link. A path that the workflow itself names
 * outside of `top` is the workflow's choice. `top`: a path without links.
 */
export async function refuseLinksOut(top: string, paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    const named = resolve(path)
    if (isWithin(named, top) && !isWithin(await placeOf(named), top)) {
      throw new ToolError(`\`${path}\` is a link that leads out of the checkout: replace it with the files themselves`)
    }
  }
}

/** Without links, as far as the path exists. */
async function placeOf(path: string): Promise<string> {
  const found = await realpath(path).catch(() => undefined)
  if (found !== undefined || dirname(path) === path) return found ?? path
  return join(await placeOf(dirname(path)), basename(path))
}
