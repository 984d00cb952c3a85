/**
 * What GitHub tells a workflow about why it runs: the environment, and the file with the event. And the commit that the
 * change is compared with.
 */
import { readFile } from 'node:fs/promises'
import type { Environment } from '../../../base/command-process.ts'
import { isObject } from '../../../base/is-object.ts'
import { askGit, commitOf, gitText } from '../../diff/git.ts'
import { ToolError } from '../../load-policy.ts'

export interface Occasion {
  readonly event: string
  /** The commit that GitHub checked out, if it names one. */
  readonly commit: string | undefined
  readonly pullRequest: number | undefined
  /** Of the pull request: the login of its author, and its last commit. */
  readonly author?: string | undefined
  readonly head?: string | undefined
  /** The commit to compare with: of the branch that the change goes to, or the last one before a push. */
  readonly base: string | undefined
}

/** Git's name for no commit: a push that creates a branch comes from there. */
const NO_COMMIT = /^0+$/
const COMMIT = /^[0-9a-f]{40,64}$/

/** Throws ToolError for an event that can't be read, and for one whose token the content of a fork could use. */
export async function readOccasion(env: Environment): Promise<Occasion> {
  const event = env.GITHUB_EVENT_NAME || 'none'
  if (event === 'pull_request_target') {
    throw new ToolError(
      'the workflow runs on `pull_request_target`, whose token may write, with the content of a fork: ' +
        'let it run on `pull_request`',
    )
  }
  const payload = env.GITHUB_EVENT_PATH ? await readEvent(env.GITHUB_EVENT_PATH) : {}
  const pull = memberOf(payload, 'pull_request')
  const bases = [memberOf(memberOf(pull, 'base'), 'sha'), memberOf(memberOf(payload, 'merge_group'), 'base_sha')]
  const base = [...bases, memberOf(payload, 'before')].find((one) => one !== undefined)
  const number = memberOf(pull, 'number')
  return {
    event,
    commit: env.GITHUB_SHA || undefined,
    pullRequest: Number.isSafeInteger(number) ? Number(number) : undefined,
    author: textOf(memberOf(memberOf(pull, 'user'), 'login')),
    head: textOf(memberOf(memberOf(pull, 'head'), 'sha')),
    base: typeof base === 'string' && COMMIT.test(base) && !NO_COMMIT.test(base) ? base : undefined,
  }
}

async function readEvent(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, 'utf8'))
  } catch {
    throw new ToolError(`the event of GitHub can't be read: \`${file}\` (GITHUB_EVENT_PATH) has to be a JSON file`)
  }
}

function memberOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

// ---- The commit that a change is compared with.

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

function refuse(base: string): never {
  throw new ToolError(
    `the clone has not the commit \`${base}\` to compare with: give actions/checkout \`fetch-depth: 0\``,
  )
}
