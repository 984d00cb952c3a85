/**
 * Why an answer is unexpected: the rules behind it, as far as the policy files show them, and the command that explains
 * it.
 */

import { isDeepStrictEqual } from 'node:util'
import { namedRelations, possibleSets } from '../../../analysis/possible-sets.ts'
import { environment } from '../../../base/command-process.ts'
import { isObject } from '../../../base/is-object.ts'
import { shellWord } from '../../../base/problems/fix.ts'
import { rulePlace } from '../../../decide/evidence.ts'
import { directPolicy } from '../../../decide/grants/direct.ts'
import type { Grant } from '../../../decide/grants/grant.ts'
import type { Rule } from '../../../decide/policy.ts'
import { comparedFields, leavesOf } from '../../../decide/relations/all-kinds.ts'
import type { Relation } from '../../../decide/relations/relation-kind.ts'
import { programHere } from '../../../present/invocation.ts'
import { namesText } from '../../../present/quote.ts'
import type { Representation } from '../../../resources/resource.ts'
import { NONE } from '../../asked/assumed-names.ts'
import { objectCreated } from '../cells/survey.ts'
import { relationsAmong } from '../fixture/wanted-object.ts'
import { type EvaluatedPolicy, evaluatePolicy } from '../predict/predict.ts'
import { holds, type Predictor } from '../predict/predict-cell.ts'
import { predictedSuite, type Suite } from '../predict/suite.ts'
import { callerIn, type Expectation, heldIn } from '../read/expectation.ts'
import type { BoundExpectation, CellOnTarget } from './bind.ts'
import type { Result } from './result.ts'
import type { CellSetup } from './set-up.ts'

/** Half a sentence, as in `policy.csv:19 allows it`; undefined if no rule is behind the answer. */
export function rulesBehind({ suite, bound }: CellOnTarget, setup: CellSetup, status: number): string | undefined {
  const { endpoint, resource, expectation } = bound
  const action = endpoint && resource.actions.get(endpoint.action)
  // A refusal by the schema isn't decided by the policy.
  if (!action || expectation.object.kind === 'missing' || status === 400) return undefined
  const policy = directPolicy(suite.policy, suite.resources)
  const table = policy.table(policy.subjectOf(callerIn(expectation.column)), resource.name, action.name)
  const found = relationsBehind(suite, bound, setup).map((relations) =>
    table.grant([...relations, ...(expectation.when ?? [])]),
  )
  const granting = found.filter(({ fields }) => fields.size > 0)
  if (granting.length === 0) return say(found, 'denies') ?? 'no rule of policy.csv allows it'
  const allowed = say(granting, 'allows')
  const view = suite.policy.views.get(resource.name)?.get(bound.route.view ?? '')
  if (view && action.hasFields && granting.every(({ fields }) => fields.isDisjointFrom(view)))
    return `${allowed}, but no field of the view \`${bound.route.view}\``
  if (status === 403 && setup.body !== undefined) return `${allowed}, but not ${refusedPart(bound, setup, granting)}`
  const denied = say(granting, 'denies', 'some of its fields')
  return denied === undefined ? allowed : `${allowed}, and ${denied}`
}

/** Of a body: the fields that it changes and that no rule grants, or what the write leaves. */
function refusedPart(
  { expectation }: BoundExpectation,
  { body, placed: [stored] }: CellSetup,
  granting: readonly Grant[],
): string {
  const before: Representation = expectation.object.kind === 'none' ? {} : (stored?.object ?? {})
  const changed = isObject(body) ? Object.keys(body).filter((name) => !isDeepStrictEqual(body[name], before[name])) : []
  const refused = changed.filter((name) => granting.every(({ fields }) => !fields.has(name)))
  const what = refused.length === 0 ? 'what it leaves' : `${namesText(refused)} of the body`
  if (expectation.body !== undefined || expectation.becomes) return what
  return `${what}: say in \`becomes\` what the request changes, or name a file in \`body\``
}

/** For example `policy.csv:3, policy.csv:7 deny it`; undefined without such a rule. */
function say(grants: readonly Grant[], what: 'allows' | 'denies', object = 'it'): string | undefined {
  const lines = [...new Set(grants.flatMap((grant) => grant[what].map(({ line }) => line)))].sort((a, b) => a - b)
  const verb = what === 'allows' ? 'allow' : 'deny'
  if (lines.length === 0) return undefined
  return `${lines.map(rulePlace).join(', ')} ${lines.length > 1 ? verb : what} ${object}`
}

/**
 * What holds between the caller and the object: a list is allowed if it is allowed for one of the possible sets of
 * relations, and a new object has the owner and the defaults that the server fills in.
 */
function relationsBehind(
  { policy }: Suite,
  { endpoint, resource, expectation }: BoundExpectation,
  { placed: [stored], caller, world, body = null }: CellSetup,
): readonly ReadonlySet<string>[] {
  const action = resource.actions.get(endpoint?.action ?? '')
  if (action && endpoint?.operation === 'list' && !resource.builtIn)
    return possibleSets(namedRelations(policy, resource, action), resource)
  if (endpoint?.operation !== 'create' || !isObject(body))
    return [stored && expectation.object.kind !== 'none' ? stored.relations : new Set()]
  const asking = {
    ownership: policy.ownership.get(resource.name),
    attributes: caller?.attributes ?? {},
    now: Date.now(),
  }
  return [new Set(relationsAmong({ ...asking, world }, objectCreated(resource, body, asking)))]
}

/**
 * Gives each wrong cell the single rule that decides it as its cause. Cells that no single rule decides stay unchanged.
 */
export async function withDecisiveRules<R extends Pick<Result, 'outcome' | 'cause' | 'expectation'>>(
  suite: Suite,
  results: readonly R[],
): Promise<readonly R[]> {
  if (results.every(({ outcome }) => outcome !== 'failed')) return results
  const { policy, resources } = suite
  const { predictor, evaluated } = predictedSuite(suite, Date.now())
  const without = new Map<Rule, EvaluatedPolicy>()
  const policyWithout = (rule: Rule): EvaluatedPolicy => {
    const rules = policy.rules.filter((one) => one !== rule)
    const made = without.get(rule) ?? evaluatePolicy({ ...policy, rules }, resources, predictor.now)
    without.set(rule, made)
    return made
  }
  const decisive = results.map(async (result) => {
    const { expectation, outcome } = result
    if (outcome !== 'failed' || !expectation) return result
    for (const rule of candidates(evaluated, predictor, expectation)) {
      if (await holds(predictor, policyWithout(rule), expectation)) return { ...result, cause: causeOf(rule) }
    }
    return result
  })
  return Promise.all(decisive)
}

function causeOf({ line, effect }: Rule): string {
  return `${rulePlace(line)} ${effect === 'allow' ? 'allows' : 'denies'} it`
}

/**
 * Includes rules about `read`: the answer to a write shows what a read would show. Later lines come first, because they
 * are more likely to be new.
 */
function candidates(
  { grants }: EvaluatedPolicy,
  { routeMethods }: Predictor,
  expectation: Expectation,
): readonly Rule[] {
  const routeMethod = routeMethods.get(`${expectation.method} ${expectation.path}`)
  if (!routeMethod) return []
  const { resource, action } = routeMethod
  const actions = new Set([action, resource.actions.get('read') ?? action])
  const subject = grants.subjectOf(callerIn(expectation.column))
  const table = (name: string) => grants.table(subject, resource.name, name)
  return [...actions].flatMap(({ name }) =>
    table(name)
      .roleLevel(() => true)
      .rules.toReversed(),
  )
}

export function explainCommand({ folders, policy, resources }: Suite, expectation: Expectation): string {
  const { method, path, column, when, whenNot } = expectation
  const resource = resources.routes.find((route) => route.path === path)?.resource ?? ''
  const relations = [...(policy.ownership.get(resource)?.relations.values() ?? [])]
  const words = [
    ...['policy', 'explain'],
    ...(column.kind === 'roles' ? column.roles.flatMap((role) => ['--role', role]) : []),
    ...(column.kind === 'user' ? ['--subject', column.id] : []),
    ...[method === 'HEAD' ? 'GET' : method, path],
    ...relationWords(expectation),
    ...changeWords(expectation, relations),
    ...(when || whenNot ? ['--with', joined(when)] : []),
    // The command's defaults, unless the environment sets others.
    ...(folders.policies === 'policies' ? [] : ['--policies', folders.policies]),
    ...(folders.schemas === 'schemas' ? [] : ['--schemas', folders.schemas]),
  ]
  return `${programHere(environment())} ${words.map(shellWord).join(' ')}`
}

/** Of a new object, the relations that it will have. */
function relationWords({ object, becomes }: Expectation): readonly string[] {
  if (object.kind === 'relations') return ['--relation', joined(object.names)]
  if (object.kind === 'other') return ['--relation', NONE]
  return object.kind === 'none' && becomes ? ['--relation', joined(becomes)] : []
}

/** The command assumes a change of one field alone; for others it explains the object before the write. */
function changeWords({ object, event, becomes }: Expectation, relations: readonly Relation[]): readonly string[] {
  if (event || !becomes || object.kind === 'none' || object.kind === 'missing') return []
  const before = heldIn(object)
  const leaves = relations.filter((relation) => leavesOf(relation)[0] === relation)
  const changed = leaves.filter(({ name }) => before.includes(name) !== becomes.includes(name))
  const [field, ...others] = new Set(changed.flatMap(comparedFields))
  if (field === undefined || others.length > 0) return []
  const states = leaves.filter((relation) => comparedFields(relation).includes(field)).map(({ name }) => name)
  const [left, right] = [before, becomes].map((names) => joined(names.filter((name) => states.includes(name))))
  return ['--becomes', `${left}>${right}`]
}

function joined(names: readonly string[] = []): string {
  return names.length === 0 ? NONE : names.join('+')
}
