/** What `schema check`, `policy check` and `ci staged` find in the files of a project, by their absolute paths. */

import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Diagnostic, FileError } from '../base/diagnostic.ts'
import type { RoleGrants } from '../decide/caller.ts'
import { checkPolicy } from '../tools/check/check-policy.ts'
import { parseReading } from '../tools/load-policy.ts'
import { sampleResources } from '../tools/matrix/fixture/samples.ts'
import { unmetFindings } from '../tools/matrix/predict/expectations-met.ts'
import { predictedSuite } from '../tools/matrix/predict/suite.ts'
import { readCases } from '../tools/matrix/read/cases.ts'
import {
  findMatrixFiles,
  type ReadMatrixSource,
  readBodies,
  readMatrices,
  readSource,
} from '../tools/matrix/read/read-matrices.ts'
import type { EditedFiles, FoldersInEditor, OpenTexts } from './edited-project.ts'

interface FoundInFile {
  readonly text: string
  readonly findings: readonly Diagnostic[]
}

export type FoundInFiles = ReadonlyMap<string, FoundInFile>

/** With faulty schemas, the policy is checked by the last good ones. */
export async function findInProject(files: EditedFiles, folders: FoldersInEditor, now: number): Promise<FoundInFiles> {
  const { reading, schemas, schemaFaults, resources } = files
  const texts = new Map(schemas.sources.map(({ name, text }) => [name, text]))
  if (!resources) return byFile(schemaFaults, texts)
  const policies = {
    name: folders.policies,
    read: async () => reading,
    readRevision: nothing,
    readPast: nothing,
    roleGrants,
  }
  const report = await checkPolicy({ policies, resources, users: undefined, now: new Date(now) })
  return byFile([...schemaFaults, ...report.findings], new Map([...texts, ...report.sources]))
}

/** More cells than these are left to `ci staged` and `matrix test`. */
const MOST_CELLS = 20_000

/** Of matrices and cases, by prediction; nothing while the schemas or the policy have errors, and nothing that is stale. */
export async function findInMatrices(
  files: EditedFiles,
  folders: FoldersInEditor,
  { now, isStale }: { readonly now: number; readonly isStale: () => boolean },
): Promise<FoundInFiles> {
  const judged = judgedPolicy(files)
  if (!judged) return new Map()
  const texts = new Map<string, string>()
  try {
    const stated = await readStated(folders.matrices, files.open, texts)
    if (stated.expectations.length > MOST_CELLS) return new Map()
    const samples = sampleResources(judged.resources)
    const suite = { ...judged, folders, samples, bodies: await readBodies(stated.expectations) }
    const predicted = predictedSuite(suite, now)
    const found: Diagnostic[] = []
    for (const part of partsOf(stated)) {
      found.push(...(await unmetFindings({ ...predicted, ...part })))
      // Somebody who types meanwhile is answered between two parts, and this result would be old.
      await nextTurn()
      if (isStale()) return new Map()
    }
    return byFile(found, texts)
  } catch (error) {
    if (!(error instanceof FileError)) throw error
    return byFile(error.diagnostics, texts)
  }
}

/** Some 20 ms of work each. */
const CELLS_AT_ONCE = 200

function* partsOf({ expectations, cases }: Awaited<ReturnType<typeof readStated>>) {
  for (let at = 0; at < expectations.length; at += CELLS_AT_ONCE) {
    yield { expectations: expectations.slice(at, at + CELLS_AT_ONCE), cases: [] }
  }
  for (const one of cases) yield { expectations: [], cases: [one] }
}

/** Undefined for a policy with errors. */
function judgedPolicy({ reading, schemaFaults, resources }: EditedFiles) {
  if (!resources || schemaFaults.length > 0) return undefined
  try {
    return { ...parseReading(reading, resources), resources }
  } catch (error) {
    if (error instanceof FileError) return undefined
    throw error
  }
}

/** Expectations and cases; puts the texts that it read into `texts`. A missing folder has none. Throws FileError. */
export async function readStated(folder: string, open: OpenTexts, texts: Map<string, string>) {
  const read: ReadMatrixSource = async (name, report) => {
    const text = open.get(resolve(name))
    const source = text === undefined ? await readSource(name, report) : { name, text }
    if (source) texts.set(name, source.text)
    return source
  }
  const isFolder = (await stat(folder).catch(() => undefined))?.isDirectory()
  const { matrices, cases } = await findMatrixFiles(isFolder ? [folder] : [])
  return { expectations: await readMatrices(matrices, read), cases: await readCases(cases, read) }
}

async function nothing(): Promise<undefined> {}

async function roleGrants(): Promise<RoleGrants> {
  return new Map()
}

/** Every file that was read has an entry. */
function byFile(findings: readonly Diagnostic[], texts: ReadonlyMap<string, string>): FoundInFiles {
  const found = Map.groupBy(findings, ({ file }) => file)
  const names = new Set([...texts.keys(), ...found.keys()])
  return new Map(
    [...names].map((name) => [resolve(name), { text: texts.get(name) ?? '', findings: found.get(name) ?? [] }]),
  )
}
