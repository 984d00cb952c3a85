/** The policy that changes are told against: that of the last commit, or else of the files on disk. */
import { resolve } from 'node:path'
import { FileError } from '../base/diagnostic.ts'
import { POLICY_FILES, readInPlace } from '../policy/policy-files.ts'
import { commitOf } from '../tools/diff/git.ts'
import { readFolder } from '../tools/diff/revision.ts'
import { ToolError } from '../tools/load-policy.ts'
import type { EditedProject } from './edited-project.ts'

/** By the names of the files, without their folder. */
export type TextsByFile = ReadonlyMap<string, string>

const known = new WeakMap<EditedProject, { readonly commit: string; readonly texts: TextsByFile }>()

/** Undefined if neither can be read. */
export async function textsBefore(project: EditedProject): Promise<TextsByFile | undefined> {
  const { policies } = project.folders
  try {
    const commit = await commitOf(resolve(policies), 'HEAD')
    const committed = commit === undefined ? undefined : await textsOfCommit(project, commit)
    if (committed) return committed
  } catch (error) {
    // Without git, or before the first commit of these files.
    if (!(error instanceof ToolError)) throw error
  }
  return textsIn(policies)
}

async function textsOfCommit(project: EditedProject, commit: string): Promise<TextsByFile | undefined> {
  const found = known.get(project)
  if (found?.commit === commit) return found.texts
  const isFile = (name: string) => POLICY_FILES.includes(name)
  const texts = await readFolder(commit, { of: 'policy', usual: project.folders.policies, isFile, load: textsIn })
  if (texts) known.set(project, { commit, texts })
  return texts
}

async function textsIn(directory: string): Promise<TextsByFile | undefined> {
  const reading = await readInPlace(directory)
  try {
    const files = Object.entries(reading.files()).map(([name, { text }]) => [name, text] as const)
    return new Map([...files, ['blocked.txt', reading.blocked().text]])
  } catch (error) {
    if (error instanceof FileError) return undefined
    throw error
  }
}
