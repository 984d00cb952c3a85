/**
 * What the matrices don't cover: cells without an expectation, and rules, terms, right sides, relations and views that
 * no expectation depends on (every expectation would still hold without them).
 */
import { rulePlace } from '../../../decide/evidence.ts'
import type { Policy, Rule, Term } from '../../../decide/policy.ts'
import { termText } from '../../../decide/rules/terms.ts'
import { type CellSurvey, surveyCells } from '../cells/survey.ts'
import { findDifference, noticing, tryMutant } from '../mutate/judge-mutant.ts'
import { mutateRules, vocabularyOf } from '../mutate/mutants.ts'
import type { Operator } from '../mutate/operators.ts'
import { type Stated, statementsOf } from '../predict/expectations-met.ts'
import { evaluatePolicy } from '../predict/predict.ts'
import type { PredictedSuite } from '../predict/suite.ts'

/** A rule, relation or view, and whether some expectation depends on it. */
export interface CoveredPart {
  /** `policy.csv:14`, or the name in its file. */
  readonly place: string
  readonly text: string
  readonly covered: boolean
  /** Proven: without it, no decision differs, because other rules decide the same. So no expectation can depend on it. */
  readonly redundant?: true
}

interface UnseenMistakes extends Omit<CoveredPart, 'covered' | 'redundant'> {
  /** As `matrix mutate --only` names them. */
  readonly operators: readonly string[]
}

export interface Coverage extends CellSurvey {
  readonly rules: readonly CoveredPart[]
  /** The terms of rules, and their right sides. */
  readonly terms: readonly CoveredPart[]
  readonly results: readonly CoveredPart[]
  readonly relations: readonly CoveredPart[]
  readonly views: readonly CoveredPart[]
  /** Covered rules in which a mistake changes a decision and goes unnoticed. */
  readonly mistakes: readonly UnseenMistakes[]
  /** How many expectations the current policy doesn't meet; they cover no rule. */
  readonly unmet: number
  /** How many cases can't be predicted; they cover no rule. */
  readonly unpredictable: number
}

export async function measureCoverage(suite: PredictedSuite): Promise<Coverage> {
  const { met, unmet, unpredictable } = await statementsOf(suite)
  const known = new Map<Alter, Promise<Noticed>>()
  const depends: Depends = (change) => known.getOrInsertComputed(change, () => noticed(suite, met, change))
  const cover = (parts: readonly CoverablePart[]) => Array.fromAsync(parts, (part) => coverPart(part, depends))
  const rules = rulesServed(suite).map((rule) => ({ rule, gone: { change: replaced(rule, []) } }))
  const shown = (sides: (rule: Rule) => readonly RuleWithoutPart[]) =>
    rules.flatMap(({ rule, gone }) =>
      sides(rule).map(({ less, never, always }): CoverablePart => {
        const needs = [
          { ...gone, lack: never },
          { change: replaced(rule, [less]), lack: always },
        ]
        return { ...rulePart(suite, rule.line), needs }
      }),
    )
  const covered = await cover(rules.map(({ rule, gone }) => ({ ...rulePart(suite, rule.line), needs: [gone] })))
  const lines = new Set(rules.flatMap(({ rule }, i) => (covered[i]?.covered ? [rule.line] : [])))
  const { ownership, views } = suite.evaluated.policy
  return {
    ...(await surveyCells(suite)),
    rules: covered,
    terms: await cover(shown(termsOf)),
    results: await cover(shown(resultsOf)),
    relations: await cover(
      namesIn(suite, 'ownership.yaml', ownership, ({ relations }) => relations.keys(), withoutRelation),
    ),
    views: await cover(namesIn(suite, 'views.yaml', views, (some) => some.keys(), withoutView)),
    mistakes: await mistakesOf(suite, met, lines),
    unmet,
    unpredictable,
  }
}

type Alter = (policy: Policy) => Policy

/** Whether an expectation fails under the changed policy; `never`: proven, for no decision differs. */
type Noticed = 'noticed' | 'unnoticed' | 'never'

type Depends = (change: Alter) => Promise<Noticed>

/** What an expectation can depend on: it is covered if expectations notice each of these changes. */
interface CoverablePart extends Omit<CoveredPart, 'covered'> {
  readonly needs: readonly {
    readonly change: Alter
    /** What expectations that don't notice the change never show. */
    readonly lack?: string
  }[]
}

async function coverPart({ place, text, needs }: CoverablePart, depends: Depends): Promise<CoveredPart> {
  for (const { change, lack } of needs) {
    const found = await depends(change)
    if (found === 'noticed') continue
    const redundant = found === 'never' && { redundant: true as const }
    return { place, text: lack === undefined ? text : `${text}: ${lack}`, covered: false, ...redundant }
  }
  return { place, text, covered: true }
}

/** All parts of the policy that an expectation can depend on. */
export function partsOf({ rules, terms, results, relations, views }: Coverage): readonly CoveredPart[] {
  return [...rules, ...terms, ...results, ...relations, ...views]
}

export type Measured = Pick<CoveredPart, 'covered' | 'redundant'>

/** Of those that an expectation can depend on, the share of covered ones, in percent; 100 where there are none. */
export function percentOf(parts: readonly Measured[]): number {
  const counting = parts.filter(({ redundant }) => !redundant)
  return counting.length === 0 ? 100 : (100 * counting.filter(({ covered }) => covered).length) / counting.length
}

async function noticed(suite: PredictedSuite, stated: readonly Stated[], change: Alter): Promise<Noticed> {
  const { evaluated, resources, predictor } = suite
  const changed = evaluatePolicy(change(evaluated.policy), resources, predictor.now)
  if (await noticing({ ...suite, stated }, changed)) return 'noticed'
  const policies = { before: evaluated.policy, after: changed.policy }
  return findDifference(policies, { resources, now: predictor.now }) ? 'unnoticed' : 'never'
}

/** No request to this server is about a resource that is kept elsewhere. */
function rulesServed({ evaluated, resources }: PredictedSuite): readonly Rule[] {
  return evaluated.policy.rules.filter(({ resource }) => !resources.byName.get(resource)?.external)
}

function replaced({ line }: Rule, by: readonly Rule[]): Alter {
  return (policy) => ({ ...policy, rules: policy.rules.flatMap((one) => (one.line === line ? by : [one])) })
}

function rulePart({ files }: PredictedSuite, line: number): Omit<CoveredPart, 'covered'> {
  const text = files['policy.csv'].text.split('\n')[line - 1] ?? ''
  return { place: rulePlace(line), text: text.trim().replaceAll(/\s+/g, ' ') }
}

/**
 * A part of a rule: the rule without it, and what matrices that don't show it both ways never show. An expectation that
 * needs the rule sees its terms hold; one that fails without a term sees this term alone not hold.
 */
interface RuleWithoutPart {
  readonly less: Rule
  readonly never: string
  readonly always: string
}

function termsOf(rule: Rule): readonly RuleWithoutPart[] {
  const { before, after = [] } = rule
  const left = before.map((term, i) => ({ term, less: { ...rule, before: before.toSpliced(i, 1) } }))
  // A right side of one term is shown as a whole.
  const right = after.length < 2 ? [] : after
  const others = right.map((term, i) => ({ term, less: { ...rule, after: after.toSpliced(i, 1) } }))
  return [...left, ...others].map(({ term, less }) => ({
    less,
    never: `\`${termText(term)}\` is never seen to hold`,
    always: `\`${termText(term)}\` is never seen not to hold`,
  }))
}

function resultsOf({ after, ...less }: Rule): readonly RuleWithoutPart[] {
  if (!after) return []
  const text = sideText(after)
  return [
    {
      less,
      never: `no result that fits \`${text}\` is seen`,
      always: `no result that doesn't fit \`${text}\` is seen`,
    },
  ]
}

function sideText(terms: readonly Term[]): string {
  return terms.map(termText).join('+') || 'any'
}

/** No object relates in this way without its relation, and no rule means these fields without its view. */
function namesIn<T>(
  { resources }: PredictedSuite,
  file: string,
  declared: ReadonlyMap<string, T>,
  namesOf: (declared: T) => Iterable<string>,
  without: (policy: Policy, resource: string, name: string) => Policy,
): readonly CoverablePart[] {
  const served = [...declared].filter(([resource]) => !resources.byName.get(resource)?.external)
  return served.flatMap(([resource, some]) =>
    [...namesOf(some)].map((name) => ({
      place: `${file}: ${resource}.${name}`,
      text: `${resource}: ${name}`,
      needs: [{ change: (policy: Policy) => without(policy, resource, name) }],
    })),
  )
}

function withoutRelation(policy: Policy, resource: string, name: string): Policy {
  const owned = policy.ownership.get(resource)
  if (!owned) return policy
  const relations = new Map([...owned.relations].filter(([key]) => key !== name))
  return { ...policy, ownership: new Map([...policy.ownership, [resource, { ...owned, relations }]]) }
}

function withoutView(policy: Policy, resource: string, name: string): Policy {
  const emptied = new Map([...(policy.views.get(resource) ?? []), [name, new Set<string>()] as const])
  return { ...policy, views: new Map([...policy.views, [resource, emptied]]) }
}

/** A dropped rule isn't a mistake here: coverage already shows whether an expectation depends on the rule. */
const GONE: ReadonlySet<Operator> = new Set(['drop-rule', 'drop-deny'])

/**
 * Mistakes in these lines that change a decision and that no expectation notices, in the order of the lines. In rules
 * that no expectation depends on, no mistake is noticed.
 */
async function mistakesOf(
  suite: PredictedSuite,
  stated: readonly Stated[],
  lines: ReadonlySet<number>,
): Promise<readonly UnseenMistakes[]> {
  const mutants = mutateRules(suite, vocabularyOf(suite.evaluated.policy))
  const possible = mutants.filter(({ line, operator }) => lines.has(line) && !GONE.has(operator))
  const tried = await Array.fromAsync(possible, async (mutant) => ({
    mutant,
    tried: await tryMutant({ ...suite, stated }, mutant),
  }))
  const unseen = tried.flatMap(({ mutant, tried: one }) => (typeof one !== 'string' && one.difference ? [mutant] : []))
  return [...Map.groupBy(unseen, ({ line }) => line)].map(([line, some]) => ({
    ...rulePart(suite, line),
    operators: [...new Set(some.map(({ operator }) => operator))],
  }))
}
