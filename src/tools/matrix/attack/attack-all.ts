/**
 * All attacks of a policy, on targets that are left as they were found: what each reached, compared with what the policy
 * says.
 */

import { isObject } from '../../../base/is-object.ts'
import { namesText } from '../../../present/quote.ts'
import type { Representation } from '../../../resources/resource.ts'
import { ToolError } from '../../load-policy.ts'
import { credentialOf } from '../predict/cell-fixture.ts'
import { objectsOf } from '../predict/memory-store.ts'
import type { Answer } from '../predict/predict.ts'
import { loadSuite, predictedSuite, type Suite } from '../predict/suite.ts'
import type { Expectation } from '../read/expectation.ts'
import { answered, type Run, type Timed, type TrialResult } from '../run/result.ts'
import { askOn } from '../run/run-cell.ts'
import { type RunOptions, runTrials, tryOnTarget } from '../run/run-trials.ts'
import type { HttpAnswer } from '../target/http.ts'
import type { TargetPool, TestTarget } from '../target/test-target.ts'
import { aim, type Ready } from './aim.ts'
import { type Attack, planAttacks } from './plan-attacks.ts'
import { type Met, mostConditions, type Predicted } from './ways.ts'

/** What a result tells of an attack. It failed if the attacker reached something else than the policy says. */
export interface Attacked {
  readonly attack: Attack
}

export interface AttackOptions extends RunOptions<Attacked> {
  /** Only these; empty for all. */
  readonly resources: readonly string[]
}

/** Throws FileError for faulty files, and ToolError where nothing can be attacked. */
export async function attackAll(options: AttackOptions): Promise<Run<Attacked & Timed>> {
  const suite = await loadSuite(options, [])
  const predicted = predictedSuite(suite, Date.now())
  const attacks = await planAttacks(predicted, options.resources)
  if (attacks.length === 0)
    throw new ToolError('there is nothing to attack: name another --resource, or declare roles in roles.yaml')
  return runTrials(
    suite,
    attacks.map((attack) => ({ about: { attack }, carryOut: (pool) => carryOut({ suite, predicted }, attack, pool) })),
    options,
  )
}

interface AttackContext {
  readonly suite: Suite
  readonly predicted: Predicted
}

async function carryOut({ suite, predicted }: AttackContext, attack: Attack, pool: TargetPool): Promise<TrialResult> {
  const met = mostConditions(predicted.evaluated, attack.routeMethod, attack.attacker, Date.now())
  return tryOnTarget(pool, cellOf(attack, met), async (target) => {
    const ready = await aim({ suite, predicted, target }, attack)
    return send({ target, predicted, met }, attack, ready)
  })
}

/** The cell whose conditions hold on the target. */
function cellOf({ routeMethod: { method, route }, attacker: column }: Attack, { when }: Met): Expectation {
  const place = { file: '', line: 1, column: 1 }
  return { place, method, path: route.path, object: { kind: 'other' }, column, when, expected: { status: 200 } }
}

interface AttackToSend {
  readonly target: TestTarget
  readonly predicted: Predicted
  readonly met: Met
}

async function send(sending: AttackToSend, attack: Attack, ready: Ready): Promise<TrialResult> {
  const { route, resource, method } = attack.routeMethod
  const id = ready.id === undefined ? undefined : encodeURIComponent(ready.id)
  const predicted = await predictFor(sending, attack, ready)
  const asked = { route, resource, method, id, wanted: predicted.status }
  const { request, answer } = await askOn(sending.target, asked, ready.request)
  const why = differenceOf({ attack, predicted, answer, victims: ready.victims })
  return { ...answered(request, answer, why), predicted: predicted.status }
}

function predictFor(
  { target, predicted: { evaluated, predictor }, met }: AttackToSend,
  { routeMethod }: Attack,
  { request, attacker, id, world }: Ready,
): Promise<Answer> {
  const body = isObject(request.body ?? null) ? (request.body as Representation) : undefined
  const caller = attacker && { ...attacker, ...credentialOf(met.facts) }
  return predictor.predict({
    evaluated,
    routeMethod,
    caller,
    id,
    body,
    objects: objectsOf(world),
    conditional: true,
    facts: { ...met.facts, now: target.now() },
  })
}

interface ComparedAnswer {
  readonly attack: Attack
  readonly predicted: Answer
  readonly answer: HttpAnswer
  /** The victim's objects. */
  readonly victims: readonly Representation[]
}

/** One sentence; undefined if the attacker reached exactly what the policy says. */
function differenceOf(compared: ComparedAnswer): string | undefined {
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
function rowDifference({ answer, victims }: ComparedAnswer, items: NonNullable<Answer['items']>): string | undefined {
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

function fieldDifference({ answer, predicted, attack, victims }: ComparedAnswer): string | undefined {
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
