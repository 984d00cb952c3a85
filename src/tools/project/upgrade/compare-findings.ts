/** Whether the project's files are right for the new version, and which faults the old version didn't find. */
import { stat } from 'node:fs/promises'
import { byPlace, type Diagnostic, FileError, formatDiagnostic } from '../../../base/diagnostic.ts'
import { readMigrations } from '../../../migrations/file/read-migrations.ts'
import { readCases } from '../../matrix/read/cases.ts'
import { findMatrixFiles, readMatrices } from '../../matrix/read/read-matrices.ts'
import { askProgram, type ProgramAnswer } from './ask-program.ts'
import type { Undecided, UpgradeFinding } from './report.ts'
import type { UpgradeSides } from './sides.ts'

const MOST_FINDINGS = 200

interface ComparedFindings {
  readonly findings: readonly UpgradeFinding[]
  readonly moreFindings: number
  readonly undecided: readonly Undecided[]
}

export async function compareFindings(sides: UpgradeSides): Promise<ComparedFindings> {
  const { schemas, policies } = sides.project
  const asked = await Promise.all([
    compareCommand(sides, ['schema', 'check', schemas]),
    compareCommand(sides, ['policy', 'check', policies, '--schemas', schemas]),
  ])
  const read = await readByThisVersion(sides)
  const all = [...asked.flatMap((one) => one.findings), ...read].sort(byPlace)
  // A row of a matrix may have one fault several times.
  const findings = [...new Map(all.map((one) => [formatDiagnostic(one), one])).values()]
  return {
    findings: findings.slice(0, MOST_FINDINGS),
    moreFindings: Math.max(0, findings.length - MOST_FINDINGS),
    undecided: asked.flatMap(({ failure }) => (failure === undefined ? [] : [{ part: 'findings', reason: failure }])),
  }
}

interface ComparedCommand {
  readonly findings: readonly UpgradeFinding[]
  readonly failure?: string
}

async function compareCommand(sides: UpgradeSides, words: readonly string[]): Promise<ComparedCommand> {
  const [old, young] = await Promise.all([sides.old, sides.new].map((side) => askProgram(side, words, sides.bounds)))
  const found = findingsIn(young)
  if (!found) return { findings: [], failure: failureIn(young) }
  const known = findingsIn(old)
  const places = known && new Set(known.map(placeOf))
  const findings = found
    .map((one): UpgradeFinding => {
      return { ...one, before: places ? (places.has(placeOf(one)) ? 'found' : 'not-found') : 'unknown' }
    })
    // What the old version warns of too is no matter of the upgrade.
    .filter(({ severity, before }) => severity === 'error' || before !== 'found')
  // Without findings of the new version, there is nothing that the old version could say.
  return known || findings.length === 0 ? { findings } : { findings, failure: failureIn(old) }
}

function findingsIn(told: ProgramAnswer | undefined): readonly Diagnostic[] | undefined {
  const { findings } = ((told && 'value' in told && told.value) || {}) as { readonly findings?: unknown }
  return Array.isArray(findings) ? findings : undefined
}

function failureIn(told: ProgramAnswer | undefined): string {
  return told && 'failure' in told ? told.failure : 'a command printed JSON of another shape'
}

/** The messages may be in other words. */
function placeOf({ file, line, column, code }: Diagnostic): string {
  return JSON.stringify([file, line, column, code])
}

/** Matrices and migrations, which the old version can't check without running them. */
async function readByThisVersion({ project }: UpgradeSides): Promise<readonly UpgradeFinding[]> {
  const hasMatrices = (await stat(project.matrices).catch(() => undefined))?.isDirectory()
  const faults = await Promise.all([
    faultsOf(() => readMigrations(project.migrations)),
    ...(hasMatrices ? [faultsOf(() => readAllMatrices(project.matrices))] : []),
  ])
  return faults.flat().map((fault) => ({ ...fault, before: 'unknown' }))
}

async function readAllMatrices(folder: string): Promise<void> {
  const { matrices, cases } = await findMatrixFiles([folder])
  await Promise.all([readMatrices(matrices), readCases(cases)])
}

async function faultsOf(read: () => Promise<unknown>): Promise<readonly Diagnostic[]> {
  try {
    await read()
    return []
  } catch (error) {
    if (error instanceof FileError) return error.diagnostics
    throw error
  }
}
