/**
 * All attacks of a policy, on targets that are left as they were found: what each reached, compared with what the policy
 * says.
 */
import { isObject } from '../../../base/is-object.ts'
import { namesText } from '../../../present/quote.ts'
import type { Representation } from '../../../resources/resource.ts'
import { ToolError } from '../../load-policy.ts'
import { credentialOf } from '../predict/arrange-cell.ts'
import type { Answer } from '../predict/predict.ts'
import { loadSuite, predictedSuite, type Suite } from '../predict/suite.ts'
import type { Expectation } from '../read/expectation.ts'
import { type Exchange, exchangeOf } from '../run/result.ts'
import { ifMatchOf } from '../run/set-up.ts'
import { type HttpAnswer, type HttpRequest, NoAnswer } from '../target/http.ts'
import { CannotSetUp, type RunOptions, type TargetPool, type TestTarget, workThrough } from '../target/test-target.ts'
import { aim, type Ready } from './aim.ts'
import { type Attack, planAttacks } from './plan-attacks.ts'
import { type Met, mostConditions, type Predicted } from './ways.ts'

export interface AttackRun {
  /** The deployment, or undefined for this process. */
  readonly url: string | undefined
  readonly reached: readonly Reached[]
  /** Problems with the clean-up and similar remarks, one sentence each. */
  readonly remarks: readonly string[]
}

export interface AttackOptions extends RunOptions<Reached> {
  /** Only these; empty for all. */
  readonly resources: readonly string[]
}

/** Throws FileError for faulty files, and ToolError where nothing can be attacked. */
export async function attackAll(options: AttackOptions): Promise<AttackRun> {
  const suite = await loadSuite(options, [])
  const predicted = predictedSuite(suite, Date.now())
  const attacks = await planAttacks(predicted, options.resources)
  if (attacks.length === 0)
    throw new ToolError('there is nothing to attack: name another --resource, or declare roles in roles.yaml')
  const pool = await options.openTargets(suite)
  options.started(attacks.length)
  const context = { suite, predicted, pool }
  const { results, remarks } = await workThrough(attacks, pool, options, (attack) => carryOut(context, attack))
  const left = attacks.length - results.size
  const cut = left > 0 ? [`The run ended early: ${left} attacks were left out.`] : []
  const reached = attacks.flatMap((attack) => results.get(attack) ?? [])
  return { url: pool.url, reached, remarks: [...cut, ...remarks] }
}

/** `same`: as the policy says; `different`: a finding; `impossible`: it could not be tried, which proves nothing. */
export interface Reached {
  readonly attack: Attack
  readonly outcome: 'same' | 'different' | 'impossible'
  /** What the policy says. */
  readonly predicted?: number
  readonly status?: number
  /** One sentence, unless the outcome is `same`. */
  readonly why?: string
  /** For a finding: the request and its answer. */
  readonly exchange?: Exchange
}

interface AttackContext {
  readonly suite: Suite
  readonly predicted: Predicted
  readonly pool: TargetPool
}

/** Rejects only for a bug in this program. */
async function carryOut(context: AttackContext, attack: Attack): Promise<Reached> {
  try {
    return await onTarget(context, attack)
  } catch (error) {
    if (!(error instanceof CannotSetUp || error instanceof NoAnswer)) throw error
    return { attack, outcome: 'impossible', why: error.message }
  }
}

async function onTarget({ suite, predicted, pool }: AttackContext, attack: Attack): Promise<Reached> {
  const met = mostConditions(predicted.evaluated, attack.routeMethod, attack.attacker, Date.now())
  const { target, release } = await pool.lend(cellOf(attack, met))
  try {
    const ready = await aim({ suite, predicted, target }, attack)
    return await send({ target, predicted, met }, attack, ready)
  } finally {
    await release()
  }
}

/** The cell whose conditions hold on the target. */
function cellOf({ routeMethod: { method, route }, attacker: column }: Attack, { when }: Met): Expectation {
  const place = { file: '', line: 1, column: 1 }
  return { place, method, path: route.path, object: { kind: 'other' }, column, when, expected: { status: 200 } }
}

interface Sending {
  readonly target: TestTarget
  readonly predicted: Predicted
  readonly met: Met
}

async function send(sending: Sending, attack: Attack, ready: Ready): Promise<Reached> {
  const { target } = sending
  const predicted = await predictFor(sending, attack, ready)
  const request = await withIfMatch(target, attack, ready)
  const answer = await target.ask(request, predicted.status)
  await target.note(attack.routeMethod.resource.name, answer, ready.request.token)
  const why = differenceOf({ attack, predicted, answer, victims: ready.victims })
  const outcome = { attack, predicted: predicted.status, status: answer.status } as const
  if (why === undefined) return { ...outcome, outcome: 'same' }
  return { ...outcome, outcome: 'different', why, exchange: exchangeOf(request, answer) }
}

async function withIfMatch(target: TestTarget, { routeMethod }: Attack, { request, id }: Ready): Promise<HttpRequest> {
  const { route, resource, method } = routeMethod
  const asked = { route, resource, method, id: id === undefined ? undefined : encodeURIComponent(id) }
  return { ...request, headers: await ifMatchOf(target, asked, request) }
}

function predictFor(
  { target, predicted: { evaluated, predictor }, met }: Sending,
  { routeMethod }: Attack,
  { request, attacker, id, world }: Ready,
): Promise<Answer> {
  const body = isObject(request.body ?? null) ? (request.body as Representation) : undefined
  const byResource = [...Map.groupBy(world, ({ resource }) => resource)]
  const objects = new Map(
    byResource.map(([name, some]) => [name, new Map(some.map(({ object }) => [String(object.id), object]))]),
  )
  const caller = attacker && { ...attacker, ...credentialOf(met.facts) }
  return predictor.predict({
    evaluated,
    routeMethod,
    caller,
    id,
    body,
    objects,
    conditional: true,
    facts: { ...met.facts, now: target.now() },
  })
}

interface Compared {
  readonly attack: Attack
  readonly predicted: Answer
  readonly answer: HttpAnswer
  /** The victim's objects. */
  readonly victims: readonly Representation[]
}

/** One sentence; undefined if the attacker reached exactly what the policy says. */
function differenceOf(compared: Compared): string | undefined {
  const { predicted, answer, attack } = compared
  // A server may refuse the query with 400. Its effect is checked only if the server obeys it.
  const refused = attack.vector.endsWith('in query') && answer.status === 400
  if (refused && predicted.status < 400) return undefined
  if (answer.status !== predicted.status) {
    return `the policy says ${predicted.status}, but the server answered ${answer.status}`
  }
  if (attack.routeMethod.method === 'HEAD' || answer.status >= 300) return undefined
  return predicted.items ? rowDifference(compared, predicted.items) : fieldDifference(compared)
}

/** The query asks for objects of the victim alone. */
function rowDifference({ answer, victims }: Compared, items: NonNullable<Answer['items']>): string | undefined {
  const { items: rows = [], next = null } = (answer.json ?? {}) as {
    readonly items?: readonly Representation[]
    readonly next?: string | null
  }
  const ids = new Set(victims.map(({ id }) => id))
  const asked = items.filter(({ object }) => ids.has(object.id))
  const allowed = new Map(asked.map(({ object, shown }) => [object.id, shown]))
  const stray = rows.find((row) => !allowed.has(row.id ?? null) && allowed.size === 0)
  if (stray) return `the list shows \`${String(stray.id)}\`, but the policy lists none of these objects`
  const known = rows.filter((row) => allowed.has(row.id ?? null))
  // Of a list with further pages, only the first was read.
  if (next === null && known.length < asked.filter(({ shown }) => 'id' in shown).length)
    return 'the list lacks objects that the policy lists'
  return known.map((row) => comparedFields(row, allowed.get(row.id ?? null))).find((why) => why !== undefined)
}

function fieldDifference({ answer, predicted, attack, victims }: Compared): string | undefined {
  const { json } = answer
  if (!isObject(json ?? null)) return predicted.shown ? 'the answer shows no object' : undefined
  const shown = json as Representation
  const foreign = attack.vector === 'id in query' && victims.some(({ id }) => id === shown.id)
  if (foreign) return 'the answer shows the object that the query names'
  return comparedFields(shown, predicted.shown)
}

function comparedFields(shown: Representation, predicted: Representation | undefined): string | undefined {
  const more = Object.keys(shown).filter((field) => !Object.hasOwn(predicted ?? {}, field))
  const less = Object.keys(predicted ?? {}).filter((field) => !Object.hasOwn(shown, field))
  if (more.length > 0) return `the answer shows ${namesText(more)}, which the policy does not show`
  return less.length > 0 ? `the answer lacks ${namesText(less)}, which the policy shows` : undefined
}
