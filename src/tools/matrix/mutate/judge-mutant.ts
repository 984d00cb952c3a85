/**
 * All mutants of a policy, judged one by one: an expectation notices it, the parser refuses it, no decision differs, or it
 * survives, with a request that shows it or without one. Coverage asks the same: which expectations a change can matter to,
 * and which notices it.
 */
import { setImmediate } from 'node:timers/promises'
import { type SubjectsOf, touchedActions } from '../../../analysis/compare.ts'
import type { Sides } from '../../../analysis/compared-space.ts'
import { changeSentence, type SettingChange } from '../../../analysis/diff/change.ts'
import {
  type ChangedDecision,
  type Circumstances,
  changedDecisions,
  compareDecisions,
} from '../../../analysis/diff/compare-decisions.ts'
import { compareConditions, compareRelations } from '../../../analysis/diff/compare-meanings.ts'
import { compareRouteViews } from '../../../analysis/diff/compare-settings.ts'
import { guaranteesHeld, guaranteesNoticing } from '../../../analysis/guarantees/noticing.ts'
import { FileError, type Place } from '../../../base/diagnostic.ts'
import type { Guarantee, Policy } from '../../../decide/policy.ts'
import { livingAt } from '../../../decide/rules/rule-table.ts'
import { isAbout } from '../../../decide/rules/terms.ts'
import { parsePolicy } from '../../../policy/parse/parse-policy.ts'
import { plainText } from '../../../present/phrase.ts'
import { isScalar } from '../../../resources/object.ts'
import { type Resources, wildcardOf } from '../../../resources/resource.ts'
import { ToolError } from '../../load-policy.ts'
import { surveyCells } from '../cells/survey.ts'
import type { Cell } from '../predict/cell-fixture.ts'
import { type Stated, statementsOf } from '../predict/expectations-met.ts'
import { type EvaluatedPolicy, evaluatePolicy } from '../predict/predict.ts'
import type { PredictedSuite } from '../predict/suite.ts'
import { aimsOf, plainCells } from './aims.ts'
import {
  type Mutant,
  mutateLinks,
  mutateRules,
  mutateVocabulary,
  type Source,
  type ValuesOf,
  vocabularyOf,
} from './mutants.ts'
import type { Operator } from './operators.ts'
import { findWitness, type Pair, Tries, type Witness } from './witness.ts'
import { findBeyondRows, findByMeaning, findByValues } from './witness-beyond-rows.ts'

export interface JudgedMutant {
  readonly mutant: Mutant
  readonly verdict: Verdict
  /** The guarantees that it breaks. Expectations decide the verdict, and these don't. */
  readonly breaks: readonly Guarantee[]
}

export interface Mutation {
  readonly judged: readonly JudgedMutant[]
  /** Of the policy, those that hold. */
  readonly guarantees: readonly Guarantee[]
  /** How many expectations the current policy doesn't meet; they notice nothing. */
  readonly unmet: number
  /** How many cases can't be predicted; they notice nothing. */
  readonly unpredictable: number
  /** How many cells can't be asked; no expectation can notice a mistake there. */
  readonly unasked: number
}

interface Options {
  /** Undefined for all. */
  readonly only: ReadonlySet<Operator> | undefined
  /** The resources that mistakes are judged on; empty for all. */
  readonly resources?: readonly string[]
  readonly observe: (done: number, of: number) => void
}

/** Lets the program do other work between mutants, such as ending at Ctrl-C. Throws ToolError for an unknown resource. */
export async function mutate(
  suite: PredictedSuite,
  { only, resources: names = [], observe }: Options,
): Promise<Mutation> {
  const { files, resources, samples, evaluated } = suite
  const about = aboutOf(resources, names)
  const source = { files, resources }
  const mutants = makeMutants(source, evaluated.policy, {
    only,
    valuesOf: (resource, field) => (samples.get(resource.name)?.values.get(field) ?? []).filter(isScalar),
  }).filter(({ resource }) => !about || concerns(about, resource))
  observe(0, mutants.length)
  const { met, unmet, unpredictable } = await statementsOf(suite)
  const guarantees = guaranteesHeld(evaluated.policy, { resources, now: suite.predictor.now })
  const judged: JudgedMutant[] = []
  for (const mutant of mutants) {
    await setImmediate()
    judged.push(await judgeMutant({ ...suite, stated: met, about, guarantees }, mutant))
    observe(judged.length, mutants.length)
  }
  const { unasked } = await surveyCells(suite, ({ resource }) => about?.has(resource.name) ?? true)
  return { judged, guarantees, unmet, unpredictable, unasked: unasked.length }
}

/** Undefined for all. Throws ToolError for an unknown resource. */
export function aboutOf({ byName }: Resources, names: readonly string[]): ReadonlySet<string> | undefined {
  const unknown = names.find((name) => !byName.has(name))
  if (unknown !== undefined) {
    const known = [...byName.keys()].join(', ')
    throw new ToolError(`there is no resource \`${unknown}\`: write one of ${known}`)
  }
  return names.length === 0 ? undefined : new Set(names)
}

/** Whether a mistake in a line about `resource` (undefined for any) can matter to one of these. */
function concerns(about: ReadonlySet<string>, resource: string | undefined): boolean {
  if (resource === undefined || about.has(resource)) return true
  const isCovered = (name: string) => resource === wildcardOf(name)
  return [...about].some(isCovered)
}

export interface MutantFilter {
  readonly valuesOf: ValuesOf
  /** Undefined for all. */
  readonly only: ReadonlySet<Operator> | undefined
}

/**
 * In the order of the files' lines: the same policy has the same mutants in the same order. No expectation can notice a
 * mistake about a resource that is kept elsewhere.
 */
export function makeMutants(source: Source, policy: Policy, { valuesOf, only }: MutantFilter): readonly Mutant[] {
  const vocabulary = vocabularyOf(policy)
  return [
    ...mutateRules(source, vocabulary),
    ...mutateLinks(source, vocabulary),
    ...mutateVocabulary(source, policy, valuesOf),
  ]
    .filter(({ operator }) => only?.has(operator) ?? true)
    .filter(({ resource = '' }) => !source.resources.byName.get(resource)?.external)
}

/** The killed mutants, in percent of those that aren't proven to change no decision. */
export function scoreOf({ judged }: Mutation): number {
  const count = (kind: Verdict['kind']) => judged.filter(({ verdict }) => verdict.kind === kind).length
  const noticeable = count('killed') + count('survived') + count('not-found')
  return noticeable === 0 ? 100 : (100 * count('killed')) / noticeable
}

export type Verdict =
  | { readonly kind: 'killed'; readonly by: Place }
  | { readonly kind: 'invalid'; readonly why: string }
  /** Proven: no decision about the resources of the mistake differs. */
  | { readonly kind: 'equivalent' }
  | { readonly kind: 'survived'; readonly witness: Witness }
  /** Decisions differ, and no request that shows it was found. */
  | {
      readonly kind: 'not-found'
      /** In the sentences of `policy diff`. */
      readonly differs: readonly string[]
      readonly tried: string
    }

export interface MutationContext extends Pick<PredictedSuite, 'predictor' | 'samples' | 'resources' | 'evaluated'> {
  readonly stated: readonly Stated[]
  /** The resources that mistakes are judged on; undefined for all. */
  readonly about?: ReadonlySet<string> | undefined
  /** Those that hold, of the policy. */
  readonly guarantees?: readonly Guarantee[]
}

/** A mutant's policy, and the first expectation that notices it. */
export interface TriedMutant {
  readonly evaluated: EvaluatedPolicy
  readonly noticed: Place | undefined
  /** Undefined for a mistake that is noticed, or that is proven to change no decision. */
  readonly difference: DecidedOtherwise | undefined
}

/** The tried mutant, or the parser's message. */
export async function tryMutant(context: MutationContext, mutant: Mutant): Promise<TriedMutant | string> {
  const parsed = parseMutant(context, mutant)
  if (typeof parsed === 'string') return parsed
  const evaluated = evaluatePolicy(parsed, context.resources, context.predictor.now)
  const noticed = await noticing({ ...context, stated: nearestFirst(context.stated, mutant) }, evaluated)
  if (noticed) return { evaluated, noticed: noticed.place, difference: undefined }
  const policies = { before: context.evaluated.policy, after: evaluated.policy }
  const touched = touchedBy(context, evaluated)
  const circumstances = { resources: context.resources, now: context.predictor.now }
  return {
    evaluated,
    noticed: undefined,
    difference: findDifference(policies, circumstances, (name) => touched.has(name)),
  }
}

/**
 * Those about the resource of the mistake before others, and lists last: they need the most objects. A case in steps
 * names the fields that a view shows; most cells tell only a status.
 */
function nearestFirst(stated: readonly Stated[], { resource = '', file }: Mutant): readonly Stated[] {
  const costOf = ({ asks, isList, subjects }: Stated) =>
    (asks.some((one) => one.resource === resource) ? 0 : 4) +
    (isList ? 2 : 0) +
    (file === 'views.yaml' && subjects ? 1 : 0)
  const byCost = Map.groupBy(stated, costOf)
  return [0, 1, 2, 3, 4, 5, 6, 7].flatMap((cost) => byCost.get(cost) ?? [])
}

export async function judgeMutant(context: MutationContext, mutant: Mutant): Promise<JudgedMutant> {
  const tried = await tryMutant(context, mutant)
  if (typeof tried === 'string') return { mutant, verdict: { kind: 'invalid', why: tried }, breaks: [] }
  const { guarantees = [], evaluated, resources, predictor } = context
  const policies = { before: evaluated.policy, after: tried.evaluated.policy }
  const breaks = guaranteesNoticing(guarantees, policies, { resources, now: predictor.now })
  return { mutant, verdict: await verdictOf(context, tried), breaks }
}

async function verdictOf(context: MutationContext, tried: TriedMutant): Promise<Verdict> {
  const { evaluated, noticed, difference } = tried
  if (noticed) return { kind: 'killed', by: noticed }
  if (!difference) return { kind: 'equivalent' }
  const { predictor, resources } = context
  const pair = { before: context.evaluated, after: evaluated }
  const policies = { before: pair.before.policy, after: pair.after.policy }
  const tries = new Tries()
  const aims = aimsOf(policies, context, difference.decisions)
  const { settings } = difference
  const cells = () => plainCells(policies, context, settings)
  const witness =
    (await findWitness(
      predictor,
      pair,
      aims.map(({ cell }) => cell),
      tries,
    )) ??
    (await findBeyondRows(context, pair, aims, tries)) ??
    (settings.length > 0 ? await findBySettings(context, pair, cells(), tries) : undefined)
  if (witness) return { kind: 'survived', witness }
  const differs = differenceText(policies, { resources, now: predictor.now }, difference)
  return { kind: 'not-found', differs, tried: tries.text }
}

/** Another meaning of a name, another view of a route, or concealing: no grant differs. */
async function findBySettings(
  context: MutationContext,
  pair: Pair,
  cells: readonly Cell[],
  tries: Tries,
): Promise<Witness | undefined> {
  const { predictor } = context
  return (
    (await findWitness(predictor, pair, cells, tries)) ??
    (await findByMeaning(predictor, pair, cells, tries)) ??
    (await findByValues(context, pair, cells, tries))
  )
}

/** The policy, or the parser's message. */
function parseMutant({ resources, evaluated, predictor }: MutationContext, { files, file }: Mutant): Policy | string {
  try {
    const policy = livingAt(parsePolicy(files, resources), predictor.now)
    // Unchanged relations stay the same object, so that earlier setups are reused.
    return file === 'ownership.yaml' ? policy : { ...policy, ownership: evaluated.policy.ownership }
  } catch (error) {
    if (error instanceof FileError) return error.diagnostics[0]?.message ?? error.message
    throw error
  }
}

/** The first expectation that fails under a changed policy, of those that the change can matter to. */
export async function noticing(context: MutationContext, changed: EvaluatedPolicy): Promise<Stated | undefined> {
  const touched = touchedBy(context, changed)
  for (const one of context.stated) if (isTouched(touched, one) && !(await one.holds(changed))) return one
  return undefined
}

/** By resource, the names of the actions that a change matters to, for a caller with these subjects or for anybody. */
type Touched = ReadonlyMap<string, (caller?: SubjectsOf) => ReadonlySet<string>>

function touchedBy({ resources, evaluated, about }: MutationContext, { policy }: EvaluatedPolicy): Touched {
  const policies = { before: evaluated.policy, after: policy }
  const covered = [...resources.byName.values()].filter(({ name }) => about?.has(name) ?? true)
  return new Map(
    covered.flatMap((resource) => {
      const known = new Map<SubjectsOf | undefined, ReadonlySet<string>>()
      const find = (caller?: SubjectsOf) => new Set(touchedActions(policies, resource, caller).map(({ name }) => name))
      const actionsOf = (caller?: SubjectsOf) => known.getOrInsertComputed(caller, find)
      return actionsOf().size === 0 ? [] : [[resource.name, actionsOf] as const]
    }),
  )
}

/** Only rules about its own subjects matter to a caller. */
function isTouched(touched: Touched, { asks, subjects }: Stated): boolean {
  return asks.some(({ resource, action }) => touched.get(resource)?.(subjects).has(action))
}

export interface DecidedOtherwise {
  readonly decisions: readonly ChangedDecision[]
  readonly settings: readonly SettingChange[]
}

/** Undefined for policies that are proven to decide every request about these resources alike. */
export function findDifference(
  policies: Sides<Policy>,
  circumstances: Circumstances,
  covers: (resource: string) => boolean = () => true,
): DecidedOtherwise | undefined {
  const { resources } = circumstances
  const decisions = [...changedDecisions(policies, circumstances, covers)]
  const settings = [
    ...compareConditions(policies),
    ...[compareRelations, compareRouteViews]
      .flatMap((compare) => compare(policies, resources))
      .filter(({ resource }) => resource === undefined || covers(resource)),
  ].filter((setting) => setting.direction !== 'neutral' && !isOfNoObject(policies, setting, circumstances))
  return decisions.length + settings.length === 0 ? undefined : { decisions, settings }
}

/** What fills an object counts only where a rule is about creating or replacing: a PUT keeps the fields that it leaves out. */
function isOfNoObject(
  policies: Sides<Policy>,
  { kind, resource: name = '' }: SettingChange,
  { resources }: Circumstances,
) {
  const resource = resources.byName.get(name)
  if ((kind !== 'fill' && kind !== 'owner') || !resource) return false
  const rules = [...policies.before.rules, ...policies.after.rules]
  const actions = ['create', 'replace'].flatMap((action) => resource.actions.get(action) ?? [])
  return !rules.some((rule) => actions.some((action) => isAbout(rule, { resource, action })))
}

/** The differences in sentences, as `policy diff` says them, but for those that another right of a command hides. */
function differenceText(policies: Sides<Policy>, circumstances: Circumstances, difference: DecidedOtherwise) {
  const { decisions, settings } = difference
  const shown = compareDecisions(policies, circumstances).filter(({ resources, actions }) =>
    decisions.some(({ topic }) => resources.includes(topic.resource.name) && actions.includes(topic.action.name)),
  )
  const changes = [...shown, ...settings]
  return changes.map((change) => plainText(changeSentence(change)))
}
