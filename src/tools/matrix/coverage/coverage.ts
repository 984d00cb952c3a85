/**
 * What the matrices say nothing about: cells without an expectation, and rules, relations and views that no expectation
 * depends on (without them every expectation would hold all the same).
 */
import type { Policy } from '../../../decide/policy.ts'
import { columnsOf } from '../cells/columns.ts'
import { type Row, rowsOf } from '../cells/rows.ts'
import { cellsOf, statedIn } from '../init/plan-matrix.ts'
import type { Cell } from '../predict/arrangement.ts'
import type { Bench } from '../predict/bench.ts'
import { describe } from '../predict/compare-answer.ts'
import { Grants } from '../predict/grants.ts'
import { predictCell } from '../predict/predict-cell.ts'
import { MOST_SETS } from '../predict/relation-sets.ts'
import { type Stated, statementsOf } from '../predict/stated.ts'
import { columnText, expectedText, objectText } from '../read/expectation.ts'
import { unseenMistakes } from './mistakes.ts'

export interface CoverageCell {
  readonly resource: string
  readonly method: string
  readonly path: string
  readonly object: string
  readonly column: string
  /** What the policy answers now, as a matrix writes it. */
  readonly answer: string
  readonly covered: boolean
}

/** A cell that can be, and that nobody can ask about. */
export interface UnaskedCell extends Omit<CoverageCell, 'covered' | 'answer'> {
  readonly why: string
}

/** A rule, relation or view, and whether some expectation depends on it. */
export interface CoveredPart {
  /** `policy.csv:14`, or the name in its file. */
  readonly place: string
  readonly text: string
  readonly covered: boolean
}

export interface UnseenMistakes extends Omit<CoveredPart, 'covered'> {
  /** As `matrix mutate --only` names them. */
  readonly operators: readonly string[]
}

export interface Coverage {
  readonly cells: readonly CoverageCell[]
  /** Neither covered nor missing. */
  readonly unasked: readonly UnaskedCell[]
  readonly rules: readonly CoveredPart[]
  readonly relations: readonly CoveredPart[]
  readonly views: readonly CoveredPart[]
  /** Covered rules in which a mistake changes a decision and goes unnoticed. */
  readonly mistakes: readonly UnseenMistakes[]
  /** How many expectations the policy as it is doesn't answer so; they cover no rule. */
  readonly unmet: number
  /** How many cases in steps can't be foretold; they cover no rule. */
  readonly unpredictable: number
}

export function measureCoverage(bench: Bench): Coverage {
  const { met, unmet, unpredictable } = statementsOf(bench)
  const depends = (change: (policy: Policy) => Policy) => isNoticed(bench, met, change)
  const rules = coverRules(bench, depends)
  return {
    ...cellsOfUniverse(bench),
    rules,
    relations: coverRelations(bench, depends),
    views: coverViews(bench, depends),
    mistakes: mistakesOf(bench, met, rules),
    unmet,
    unpredictable,
  }
}

/** Of covered ones among all, in percent; of nothing, all is covered. */
export function percentOf(parts: readonly { readonly covered: boolean }[]): number {
  return parts.length === 0 ? 100 : (100 * parts.filter(({ covered }) => covered).length) / parts.length
}

/** What no caller can be asked about, because no object was found that relates so; `cells` are all others that can be. */
export function cellsOfUniverse(bench: Bench): Pick<Coverage, 'cells' | 'unasked'> {
  const { policy } = bench.grants
  const isStated = statedIn(bench)
  const columns = columnsOf(policy, bench.resources)
  const cells: CoverageCell[] = []
  const unasked: UnaskedCell[] = []
  const rows = rowsOf([policy], bench)
  for (const row of rows) {
    for (const { column } of columns.filter(({ concerns }) => concerns(row.spot))) {
      for (const cell of cellsOf(row, column)) {
        const place = placeOf(row, cell)
        const prediction = predictCell(bench.ground, bench.grants, cell)
        if (prediction.kind === 'answer') {
          const [words = { status: prediction.answer.status }] = describe(prediction)
          cells.push({ ...place, answer: expectedText(words), covered: isStated(cell) })
        }
        if (prediction.kind === 'unarranged') unasked.push({ ...place, why: prediction.why })
      }
    }
  }
  return { cells, unasked: [...unasked, ...furtherWays(rows)] }
}

/** Where rules name so many relations that not every way to relate has a row. */
function furtherWays(rows: readonly Row[]): readonly UnaskedCell[] {
  const groups = Map.groupBy(rows, ({ spot }) => spot.endpoint)
  const cut = [...groups.values()].filter((some) => some.length > MOST_SETS)
  return cut.flatMap(([row]) => {
    if (!row) return []
    const { resource, route, method } = row.spot
    const why = `rules name more relations than the ${MOST_SETS} ways to relate that are told apart`
    return [{ resource: resource.name, method, path: route.path, object: 'further ways', column: 'every caller', why }]
  })
}

function placeOf({ spot }: Row, { method, path, object, column }: Cell): Omit<CoverageCell, 'covered' | 'answer'> {
  return { resource: spot.resource.name, method, path, object: objectText(object), column: columnText(column) }
}

type Depends = (change: (policy: Policy) => Policy) => boolean

function isNoticed(bench: Bench, stated: readonly Stated[], change: (policy: Policy) => Policy): boolean {
  const grants = new Grants(change(bench.grants.policy), bench.ground.now)
  return stated.some((one) => !one.holds(grants))
}

function coverRules(bench: Bench, depends: Depends): readonly CoveredPart[] {
  return bench.grants.policy.rules.map((rule) => ({
    ...rulePart(bench, rule.line),
    covered: depends((policy) => ({ ...policy, rules: policy.rules.filter(({ line }) => line !== rule.line) })),
  }))
}

/** In a rule that nobody depends on, every mistake goes unnoticed. */
function mistakesOf(bench: Bench, met: readonly Stated[], rules: readonly CoveredPart[]): readonly UnseenMistakes[] {
  const covered = new Set(rules.filter((rule) => rule.covered).map(({ place }) => place))
  const lines = bench.grants.policy.rules.map(({ line }) => line)
  const asked = new Set(lines.filter((line) => covered.has(rulePart(bench, line).place)))
  return unseenMistakes(bench, met, asked).map(({ line, operators }) => ({ ...rulePart(bench, line), operators }))
}

function rulePart({ reviewed }: Bench, line: number): Omit<CoveredPart, 'covered'> {
  const text = reviewed.files['policy.csv'].text.split('\n')[line - 1] ?? ''
  return { place: `policy.csv:${line}`, text: text.trim().replaceAll(/\s+/g, ' ') }
}

/** Without it no object would relate so. */
function coverRelations({ grants }: Bench, depends: Depends): readonly CoveredPart[] {
  return [...grants.policy.ownership].flatMap(([resource, { relations }]) =>
    [...relations.keys()].map((name) => ({
      place: `ownership.yaml: ${resource}.${name}`,
      text: `${resource}: ${name}`,
      covered: depends((policy) => withoutRelation(policy, resource, name)),
    })),
  )
}

function withoutRelation(policy: Policy, resource: string, name: string): Policy {
  const owned = policy.ownership.get(resource)
  if (!owned) return policy
  const relations = new Map([...owned.relations].filter(([key]) => key !== name))
  return { ...policy, ownership: new Map([...policy.ownership, [resource, { ...owned, relations }]]) }
}

/** Without it no rule and no route would mean its fields. */
function coverViews({ grants }: Bench, depends: Depends): readonly CoveredPart[] {
  return [...grants.policy.views].flatMap(([resource, views]) =>
    [...views.keys()].map((name) => ({
      place: `views.yaml: ${resource}.${name}`,
      text: `${resource}: ${name}`,
      covered: depends((policy) => ({
        ...policy,
        views: new Map([...policy.views, [resource, new Map([...views, [name, new Set<string>()]])]]),
      })),
    })),
  )
}
