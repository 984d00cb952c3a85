/** The expectations that a policy meets, which alone can notice a change of it; and those that it doesn't meet. */

import type { SubjectsOf } from '../../../analysis/compare.ts'
import type { Diagnostic, Place } from '../../../base/diagnostic.ts'
import { isObject } from '../../../base/is-object.ts'
import type { Caller } from '../../../decide/caller.ts'
import { columnOfRoles } from '../../../decide/callers-and-routes.ts'
import { count } from '../../../present/text.ts'
import type { Representation } from '../../../resources/resource.ts'
import { readTarget } from '../../../resources/routing/request-target.ts'
import { type Case, type FilledStep, UnknownName, walkSteps } from '../read/cases.ts'
import { callerIn, columnText, type Expectation, expectedText, type MatrixColumn } from '../read/expectation.ts'
import { titleOf } from '../read/words.ts'
import { type AnsweredRequest, answers, describe, viewsOf } from './compare-answer.ts'
import type { Objects } from './memory-store.ts'
import type { EvaluatedPolicy, PredictedRequest } from './predict.ts'
import { holds, type Predictor, predictStated } from './predict-cell.ts'
import type { PredictedSuite } from './suite.ts'

/** One expectation: the decisions that it is about, and whether it holds under another policy. */
export interface Stated {
  readonly place: Place
  /** Names of resources and their actions. */
  readonly asks: readonly { readonly resource: string; readonly action: string }[]
  /** The subjects of its caller, one function for each caller; undefined if it has several callers. */
  readonly subjects?: SubjectsOf
  /** Whether it asks for a list, which needs an object for each way to relate to one. */
  readonly isList: boolean
  holds(evaluated: EvaluatedPolicy): Promise<boolean>
}

export interface Statements {
  readonly met: readonly Stated[]
  /** How many expectations the current policy doesn't meet. */
  readonly unmet: number
  /** How many cases can't be predicted. */
  readonly unpredictable: number
}

export async function statementsOf(suite: PredictedSuite): Promise<Statements> {
  const predictable = suite.cases.filter(isPredictable)
  const stated = [...statedCells(suite), ...(await statedCases(suite, predictable))]
  const met: Stated[] = []
  for (const one of stated) if (await one.holds(suite.evaluated)) met.push(one)
  return { met, unmet: stated.length - met.length, unpredictable: suite.cases.length - predictable.length }
}

function statedCells({ predictor, expectations }: PredictedSuite): readonly Stated[] {
  const callers = new Map<string, SubjectsOf>()
  return expectations.map((expectation) => {
    const routeMethod = predictor.routeMethods.get(`${expectation.method} ${expectation.path}`)
    const { name = '' } = routeMethod?.resource ?? {}
    // Rules about reading decide what the answer to a write shows, and what is concealed.
    const shown = routeMethod?.endpoint.operation === 'watch' ? ['read', 'list'] : ['read']
    const actions = routeMethod ? new Set([routeMethod.action.name, ...shown]) : []
    return {
      place: expectation.place,
      asks: [...actions].map((action) => ({ resource: name, action })),
      subjects: callers.getOrInsertComputed(columnText(expectation.column), () => subjectsOf(expectation.column)),
      isList: routeMethod?.endpoint.operation === 'list',
      holds: (evaluated) => holds(predictor, evaluated, expectation),
    }
  })
}

function subjectsOf(column: MatrixColumn): SubjectsOf {
  if (column.kind === 'roles') return (policy) => columnOfRoles(policy, column.roles).subjects
  const subjects = new Set(['everyone', column.kind === 'user' ? `user:${column.id}` : 'anonymous'])
  return () => subjects
}

async function statedCases(
  { predictor, evaluated }: PredictedSuite,
  cases: readonly Case[],
): Promise<readonly Stated[]> {
  const stated = cases.map(async (one) => {
    const { resources } = await walkCase(predictor, evaluated, one)
    return {
      place: one.place,
      asks: [...resources].flatMap((name) =>
        [...(predictor.resources.byName.get(name)?.actions.keys() ?? [])].map((action) => ({ resource: name, action })),
      ),
      isList: false,
      holds: async (other: EvaluatedPolicy) => (await walkCase(predictor, other, one)).holds,
    }
  })
  return Promise.all(stated)
}

/** `unasked`: the number of possible cells for which no object was found. */
type LeftOut = Pick<Statements, 'unmet' | 'unpredictable'> & { readonly unasked: number }

export function leftOutLines({ unmet, unpredictable, unasked }: LeftOut): readonly string[] {
  const red = `left out: ${count(unmet, 'expectation')} that the present policy does not meet`
  const cases = `${count(unpredictable, 'case')} with headers, a query or a JSON Patch`
  const steps = `left out: ${cases}, because only a server can answer them`
  const open = `${count(unasked, 'cell')} can't be asked, so no expectation can notice a mistake there`
  return [
    ...(unmet > 0 ? [`${red}: run sallyport matrix test to see them`] : []),
    ...(unpredictable > 0 ? [steps] : []),
    ...(unasked > 0 ? [`${open}: run sallyport matrix coverage to list them`] : []),
  ]
}

/** Headers, JSON Patches and queries change answers in ways that no policy decides. */
export function isPredictable({ steps }: Case): boolean {
  return steps.every(
    ({ headers, body, path }) => headers === undefined && (body === undefined || isObject(body)) && !path.includes('?'),
  )
}

interface Walk {
  readonly holds: boolean
  /** Of the steps that were asked. */
  readonly resources: ReadonlySet<string>
}

/** What the steps ask, until one doesn't hold or can't be asked. Assumes that response headers are as expected. */
export async function walkCase(predictor: Predictor, evaluated: EvaluatedPolicy, one: Case): Promise<Walk> {
  const callers = new Map([...one.callers].map(([name, column]) => [name, callerIn(column, `${name}-of-the-case`)]))
  const resources = new Set<string>()
  let objects: Objects = new Map()
  try {
    const fault = await walkSteps(one, callers, async (filled) => {
      const { answer, request } = await answerStep(predictor, { evaluated, objects }, filled)
      objects = answer.objects
      if (request) resources.add(request.routeMethod.resource.name)
      return {
        status: answer.status,
        json: answer.items ? { items: answer.items.map(({ shown }) => shown) } : answer.shown,
        made: answer.status === 201 && answer.of ? [String(answer.of.id)] : [],
        view: request && viewsOf(request)?.get(filled.step.expect.view ?? ''),
      }
    })
    return { holds: fault === undefined, resources }
  } catch (error) {
    if (error instanceof UnknownName) return { holds: false, resources }
    throw error
  }
}

async function answerStep(
  { match, routeMethods, predict, now }: Predictor,
  before: Pick<PredictedRequest, 'evaluated' | 'objects'>,
  { step, path, body, caller }: FilledStep<Caller>,
): Promise<AnsweredRequest> {
  const found = match(step.method, readTarget(path))
  const route = 'route' in found ? found.route : undefined
  const routeMethod = routeMethods.get(`${step.method} ${route?.path}`)
  if (found.kind !== 'route' || !routeMethod)
    return { answer: { status: route ? 405 : 404, objects: before.objects }, request: undefined }
  const content = body as Representation | undefined
  const request = { ...before, routeMethod, caller, id: found.id, body: content, facts: { now } }
  return { answer: await predict(request), request }
}

type Predicting = Pick<PredictedSuite, 'predictor' | 'evaluated'>

/**
 * Those that a policy answers otherwise than they state, as findings. Cases with headers, a query or a JSON Patch are left out: only a
 * server can answer them.
 */
export async function unmetFindings(
  suite: Predicting & Pick<PredictedSuite, 'expectations' | 'cases'>,
): Promise<readonly Diagnostic[]> {
  const found = [
    ...suite.expectations.map((one) => unmetCell(suite, one)),
    ...suite.cases.filter(isPredictable).map((one) => unmetCase(suite, one)),
  ]
  return (await Promise.all(found)).flat()
}

async function unmetCell(
  { predictor, evaluated }: Predicting,
  expectation: Expectation,
): Promise<readonly Diagnostic[]> {
  const { expected, place } = expectation
  const prediction = await predictStated(predictor, evaluated, expectation)
  if (prediction.kind === 'answer' && answers(prediction, expected)) return []
  if (prediction.kind !== 'answer') return [wrong(place, `${titleOf(expectation)}: ${prediction.why}`)]
  const [best] = describe(prediction)
  return [wrong(place, `${titleOf(expectation)}: the policy answers ${best ? expectedText(best) : 'otherwise'}`)]
}

async function unmetCase({ predictor, evaluated }: Predicting, one: Case): Promise<readonly Diagnostic[]> {
  if ((await walkCase(predictor, evaluated, one)).holds) return []
  return [wrong(one.place, `${one.name}: the policy doesn't answer each step as expected`)]
}

function wrong(place: Place, message: string): Diagnostic {
  return { ...place, code: 'cell-wrong', severity: 'error', message }
}
