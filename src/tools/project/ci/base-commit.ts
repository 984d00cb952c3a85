/** Which commit a change is compared with. */
import { askGit, gitText } from '../../diff/git.ts'
import { ToolError } from '../../load-policy.ts'
import type { Occasion } from './occasion.ts'

/** `commit`: the full id; without one, there is nothing to compare with, and the sentence says why. */
export type Base = { readonly commit: string } | { readonly missing: string }

/** `asked`: a revision that the user names. Throws ToolError if the clone has not the commit that it needs. */
export async function findBase(folder: string, asked: string | undefined, occasion: Occasion): Promise<Base> {
  if (asked !== undefined) return { commit: (await commitOf(folder, asked)) ?? refuse(asked) }
  const { pullRequest, base, event, commit } = occasion
  if (base === undefined) return { missing: `a workflow of the event \`${event}\` has no earlier commit` }
  const merged = await firstParentOfMerge(folder, commit)
  if (pullRequest !== undefined && merged !== undefined) return { commit: merged }
  if (pullRequest !== undefined) return { commit: await forkingPoint(folder, base) }
  const before = await commitOf(folder, base)
  return before === undefined
    ? { missing: `the clone has no commit \`${base}\`, which was there before` }
    : { commit: before }
}

/**
 * GitHub checks out a merge of the pull request into its branch. Its first parent is what the merge changes; the branch
 * may have gone on since.
 */
async function firstParentOfMerge(folder: string, checkedOut: string | undefined): Promise<string | undefined> {
  const [head, second] = [await commitOf(folder, 'HEAD'), await commitOf(folder, 'HEAD^2')]
  return head !== undefined && head === checkedOut && second !== undefined ? commitOf(folder, 'HEAD^1') : undefined
}

/** If the workflow checked out the branch of the pull request itself. */
async function forkingPoint(folder: string, base: string): Promise<string> {
  const found = await askGit(folder, ['merge-base', '--', base, 'HEAD'])
  return found.kind === 'answer' ? gitText(found).trim() : refuse(base)
}

async function commitOf(folder: string, revision: string): Promise<string | undefined> {
  const found = await askGit(folder, ['rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{commit}`])
  return found.kind === 'answer' ? gitText(found).trim() : undefined
}

function refuse(base: string): never {
  throw new ToolError(
    `the clone has not the commit \`${base}\` to compare with: give actions/checkout \`fetch-depth: 0\``,
  )
}
