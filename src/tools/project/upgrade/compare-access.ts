/**
 * Which decisions differ: both programs print the access matrix of the project, and each cell is compared. Where rules
 * name conditions of the request, the matrix is compared without them, with each alone, and with all together.
 */
import { askProgram } from './ask-program.ts'
import { type ComparedMatrices, compareCells } from './compare-cells.ts'
import { type PrintedMatrix, printedMatrix } from './printed-matrix.ts'
import type { DecisionChanges, Undecided } from './report.ts'
import type { UpgradeSides } from './sides.ts'

const MOST_CHANGES = 200
/** More matrices than this would take minutes. */
const MOST_CONDITIONS = 12

interface ComparedDecisions {
  readonly decisions: DecisionChanges
  readonly undecided: readonly Undecided[]
}

const EFFECTS = ['widens', 'changes', 'narrows']

export async function compareAccess(sides: UpgradeSides): Promise<ComparedDecisions> {
  const first = await compareOnce(sides, [])
  const names = first.conditions
  const sets = [...names.slice(0, MOST_CONDITIONS).map((name) => [name]), ...(names.length > 1 ? [names] : [])]
  const all = [first]
  for (const holding of sets) {
    all.push(await compareOnce(sides, holding))
    // Each further question could take its whole time too.
    if (all.at(-1)?.compared === 0) break
  }
  const changes = all.flatMap((one) => one.changes)
  const sorted = changes.toSorted((a, b) => EFFECTS.indexOf(a.effect) - EFFECTS.indexOf(b.effect))
  const untried =
    names.length > MOST_CONDITIONS ? [`only ${MOST_CONDITIONS} of ${names.length} conditions were tried alone`] : []
  const reasons = new Set([...untried, ...all.flatMap((one) => one.undecided)])
  return {
    decisions: {
      compared: all.reduce((sum, one) => sum + one.compared, 0),
      changes: sorted.slice(0, MOST_CHANGES),
      more: Math.max(0, sorted.length - MOST_CHANGES),
      routes: first.routes,
    },
    undecided: [...reasons].map((reason) => ({ part: 'decisions', reason })),
  }
}

interface ComparedOnce extends ComparedMatrices {
  /** The conditions of the request on which cells depend. */
  readonly conditions: readonly string[]
}

async function compareOnce(sides: UpgradeSides, holding: readonly string[]): Promise<ComparedOnce> {
  const { policies, schemas } = sides.project
  const assumed = holding.length > 0 ? ['--with', holding.join('+')] : []
  // Both decide for one moment: a rule may end between the two runs.
  const words = ['policy', 'matrix', '--policies', policies, '--schemas', schemas, '--at', sides.at, ...assumed]
  const told = await Promise.all([sides.old, sides.new].map((side) => askProgram(side, words, sides.bounds)))
  const [old, young] = told.map((one) => ('value' in one ? printedMatrix(one.value) : undefined))
  if (old && young) return { ...compareCells(old, young, holding), conditions: conditionsIn([old, young]) }
  const failures = told.flatMap((one) => ('failure' in one ? [one.failure] : []))
  const undecided = failures.length > 0 ? failures : ['a version prints its access matrix in another shape']
  return { compared: 0, changes: [], routes: [], undecided, conditions: [] }
}

function conditionsIn(matrices: readonly PrintedMatrix[]): readonly string[] {
  const cells = matrices.flatMap(({ rows }) => rows.flatMap((row) => [...row.cells.values()]))
  return [...new Set(cells.flatMap(({ conditions }) => conditions))].sort()
}
