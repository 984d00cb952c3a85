/**
 * What the matrices don't cover: cells without an expectation, and rules, terms, right sides, relations and views that
 * no expectation depends on (every expectation would still hold without them).
 */
import { rulePlace } from '../../../decide/evidence.ts'
import type { Policy, Rule } from '../../../decide/policy.ts'
import { type CellSurvey, surveyCells } from '../cells/survey.ts'
import { type MutationContext, tryMutant } from '../mutate/judge-mutant.ts'
import type { Mutant, Operator } from '../mutate/mutants.ts'
import { mutateRules, vocabularyOf } from '../mutate/mutate-rules.ts'
import { evaluatePolicy } from '../predict/answer.ts'
import { type Stated, statementsOf } from '../predict/expectations-met.ts'
import type { PredictedSuite } from '../predict/suite.ts'
import { type CoveredPart, coverRightSides, coverTerms, type Depends } from './covered-terms.ts'

export interface UnseenMistakes extends Omit<CoveredPart, 'covered'> {
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

export function measureCoverage(suite: PredictedSuite): Coverage {
  const { met, unmet, unpredictable } = statementsOf(suite)
  const depends = (change: (policy: Policy) => Policy) => isNoticed(suite, met, change)
  const rules = coverRules(suite, depends)
  const asked = rulesServed(suite).flatMap((rule, i) => (rules[i] ? [{ rule, part: rules[i] }] : []))
  return {
    ...surveyCells(suite),
    rules,
    terms: coverTerms(asked, depends),
    results: coverRightSides(asked, depends),
    relations: coverRelations(suite, depends),
    views: coverViews(suite, depends),
    mistakes: mistakesOf(suite, met, rules),
    unmet,
    unpredictable,
  }
}

/** All parts of the policy that an expectation can depend on. */
export function partsOf({ rules, terms, results, relations, views }: Coverage): readonly CoveredPart[] {
  return [...rules, ...terms, ...results, ...relations, ...views]
}

/** The share of covered parts, in percent; 100 where there are no parts. */
export function percentOf(parts: readonly { readonly covered: boolean }[]): number {
  return parts.length === 0 ? 100 : (100 * parts.filter(({ covered }) => covered).length) / parts.length
}

function isNoticed(suite: PredictedSuite, stated: readonly Stated[], change: (policy: Policy) => Policy): boolean {
  const evaluated = evaluatePolicy(change(suite.evaluated.policy), suite.resources, suite.predictor.now)
  return stated.some((one) => !one.holds(evaluated))
}

/** No request to this server is about a resource that is kept elsewhere. */
function rulesServed({ evaluated, resources }: PredictedSuite): readonly Rule[] {
  return evaluated.policy.rules.filter(({ resource }) => !resources.byName.get(resource)?.external)
}

function coverRules(suite: PredictedSuite, depends: Depends): readonly CoveredPart[] {
  return rulesServed(suite).map((rule) => ({
    ...rulePart(suite, rule.line),
    covered: depends((policy) => ({ ...policy, rules: policy.rules.filter(({ line }) => line !== rule.line) })),
  }))
}

/** Only for rules that an expectation depends on. In other rules, no mistake is noticed. */
function mistakesOf(
  suite: PredictedSuite,
  met: readonly Stated[],
  rules: readonly CoveredPart[],
): readonly UnseenMistakes[] {
  const covered = new Set(rules.filter((rule) => rule.covered).map(({ place }) => place))
  const lines = rulesServed(suite).map(({ line }) => line)
  const asked = new Set(lines.filter((line) => covered.has(rulePart(suite, line).place)))
  return unseenMistakes(suite, met, asked).map(({ line, operators }) => ({ ...rulePart(suite, line), operators }))
}

function rulePart({ files }: PredictedSuite, line: number): Omit<CoveredPart, 'covered'> {
  const text = files['policy.csv'].text.split('\n')[line - 1] ?? ''
  return { place: rulePlace(line), text: text.trim().replaceAll(/\s+/g, ' ') }
}

/**
 * A relation is covered if an expectation fails without it. Without the relation, no object relates to a caller in this
 * way.
 */
function coverRelations({ evaluated, resources }: PredictedSuite, depends: Depends): readonly CoveredPart[] {
  const served = [...evaluated.policy.ownership].filter(([name]) => !resources.byName.get(name)?.external)
  return served.flatMap(([resource, { relations }]) =>
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

/** A view is covered if an expectation fails without it. Without the view, no rule and no route means its fields. */
function coverViews({ evaluated, resources }: PredictedSuite, depends: Depends): readonly CoveredPart[] {
  const served = [...evaluated.policy.views].filter(([name]) => !resources.byName.get(name)?.external)
  return served.flatMap(([resource, views]) =>
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

/** Mistakes in one line of policy.csv. */
interface RuleMistakes {
  readonly line: number
  readonly operators: readonly Operator[]
}

/**
 * Mistakes in these lines that change a decision and that no expectation notices, in the order of the lines. A dropped
 * rule isn't a mistake here: coverage already shows whether an expectation depends on the rule.
 */
function unseenMistakes(
  suite: PredictedSuite,
  stated: readonly Stated[],
  lines: ReadonlySet<number>,
): readonly RuleMistakes[] {
  const { evaluated, files, resources } = suite
  const mutants = mutateRules({ files, resources }, vocabularyOf(evaluated.policy))
  const context = { ...suite, stated }
  const unseen = mutants.filter(
    (mutant) => lines.has(mutant.line) && !GONE.has(mutant.operator) && isUnseen(context, mutant),
  )
  return [...Map.groupBy(unseen, ({ line }) => line)].map(([line, some]) => {
    return { line, operators: [...new Set(some.map(({ operator }) => operator))] }
  })
}

const GONE: ReadonlySet<Operator> = new Set(['drop-rule', 'drop-deny'])

function isUnseen(context: MutationContext, mutant: Mutant): boolean {
  const tried = tryMutant(context, mutant)
  return typeof tried !== 'string' && tried.difference !== undefined
}
