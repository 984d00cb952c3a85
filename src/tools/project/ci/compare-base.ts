/** What a change means: the policy of the base, as it was there, against the policy of the working tree. */
import { basename, dirname, resolve } from 'node:path'
import { type FoundNeed, needsOf } from '../../../analysis/approvals/needs.ts'
import { type PolicyDiff, reportOn } from '../../../analysis/diff/compare-policies.ts'
import { FileError } from '../../../base/diagnostic.ts'
import type { Approvals } from '../../../decide/policy.ts'
import { POLICY_FILES } from '../../../policy/policy-files.ts'
import { loadSchemas, parseResources } from '../../../resources/load/load-resources.ts'
import type { Resources } from '../../../resources/resource.ts'
import type { SourceText } from '../../../resources/schema/schema-file.ts'
import { askGit, gitText } from '../../diff/git.ts'
import { readFolder, readSide } from '../../diff/revision.ts'
import { loadPolicy, orFaults } from '../../load-policy.ts'
import { type DiffOptions, diffSchemas } from '../../schema/diff/compare-schemas.ts'
import type { SchemaDiff } from '../../schema/diff/schema-change.ts'
import type { ProjectFolders } from './check-staged.ts'

export interface BaseComparison {
  /** Absent if the two policies can't be compared; `remark` then says why. */
  readonly policies?: PolicyDiff
  /** Whose approval the change needs, by the approvals.yaml of the base. */
  readonly needs?: readonly FoundNeed[]
  /** Of the base. */
  readonly approvals?: Approvals | undefined
  /** Absent if the schemas are the same. */
  readonly schemas?: SchemaDiff
  readonly remark?: string
}

/** `commit`: a full id. Throws ToolError, and FileError for files of the working tree with faults. */
export async function compareWithBase(commit: string, folders: ProjectFolders, now: Date): Promise<BaseComparison> {
  const { policies, schemas, matrices } = folders
  if (!(await hasFiles(commit, policies, (name) => POLICY_FILES.includes(name)))) {
    return { remark: `The base has no policy in \`${policies}\`, so all of it is new.` }
  }
  const names = { before: commit.slice(0, 12), after: policies }
  const { sources } = await loadSchemas(schemas)
  const old = await schemasOf(commit, schemas)
  for (const resources of schemaChoices(sources, old)) {
    const sides = await bothUnder(resources, commit, policies)
    if (!sides) continue
    const changed = !sameTexts(sources, old)
    const [matrix = ''] = matrices
    const earlier = { name: commit, usual: policies }
    const between = { before: commit, after: schemas, schemas, policies, earlier, matrices: matrix, now }
    return {
      policies: reportOn(names, sides, { resources, now: now.getTime() }),
      needs: needsOf(sides, resources),
      approvals: sides.before.policy.approvals,
      ...(changed && old.length > 0 ? { schemas: await schemasBetween(between) } : {}),
    }
  }
  return {
    remark: 'The policies are not compared: that of the base has errors, or no schemas fit both of them.',
  }
}

/** Faults of matrices are reported by the step that reads them; they hide nothing else. */
function schemasBetween(between: DiffOptions): Promise<SchemaDiff> {
  return orFaults(
    () => diffSchemas(between),
    () => diffSchemas({ ...between, matrices: undefined }),
  )
}

async function hasFiles(commit: string, folder: string, isFile: (name: string) => boolean): Promise<boolean> {
  const path = resolve(folder)
  const listed = await askGit(dirname(path), ['ls-tree', '-z', '--name-only', commit, '--', `${basename(path)}/`])
  const names = listed.kind === 'answer' ? gitText(listed).split('\0') : []
  return names.some((name) => isFile(name.replace(/^.*\//, '')))
}

async function schemasOf(commit: string, schemas: string): Promise<readonly SourceText[]> {
  const isFile = (name: string) => name.endsWith('.json')
  if (!(await hasFiles(commit, schemas, isFile))) return []
  const load = async (directory: string) => (await loadSchemas(directory)).sources
  return orFaults(
    () => readFolder(commit, { of: 'schema', usual: schemas, isFile, load }),
    () => [],
  )
}

/**
 * Both policies are read with the same schemas. Those of the working tree are tried first; a resource or a field that
 * the change removes is in those of the base.
 */
function* schemaChoices(young: readonly SourceText[], old: readonly SourceText[]): Generator<Resources> {
  const without = (some: readonly SourceText[], others: readonly SourceText[]) =>
    some.filter((one) => !others.some((other) => nameOf(other) === nameOf(one)))
  yield parseResources(young)
  for (const texts of [
    [...young, ...without(old, young)],
    [...old, ...without(young, old)],
  ]) {
    const resources = attempt(() => parseResources(texts))
    if (resources) yield resources
  }
}

function bothUnder(resources: Resources, commit: string, policies: string) {
  return orFaults(
    async () => ({ before: await readSide(commit, policies, resources), after: await loadPolicy(policies, resources) }),
    () => undefined,
  )
}

function sameTexts(young: readonly SourceText[], old: readonly SourceText[]): boolean {
  const written = (some: readonly SourceText[]) => JSON.stringify(some.map((one) => [nameOf(one), one.text]).sort())
  return written(young) === written(old)
}

/** A command may be called like a resource. */
function nameOf({ name, isCommand }: SourceText): string {
  return `${isCommand ? 'commands/' : ''}${name.replace(/^.*[\\/]/, '')}`
}

function attempt<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (error instanceof FileError) return undefined
    throw error
  }
}
