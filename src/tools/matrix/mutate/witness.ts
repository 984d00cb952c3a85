/** A request that two policies answer differently, and the matrix cell that would show the difference. */

import { isDeepStrictEqual } from 'node:util'
import type { ConditionFacts } from '../../../decide/request-conditions/condition-kind.ts'
import { count } from '../../../present/text.ts'
import type { Json } from '../../../resources/resource.ts'
import { listingRelations } from '../fixture/list-fixture.ts'
import { namesCaller } from '../fixture/samples.ts'
import { matrixText } from '../init/write-matrix.ts'
import type { Cell } from '../predict/cell-fixture.ts'
import { answers, describe } from '../predict/compare-answer.ts'
import type { Answer, EvaluatedPolicy, PredictedRequest } from '../predict/predict.ts'
import { type Prediction, type Predictor, predictCell } from '../predict/predict-cell.ts'
import { columnText, type Expected } from '../read/expectation.ts'

export interface Pair {
  readonly before: EvaluatedPolicy
  readonly after: EvaluatedPolicy
}

/**
 * `cell`: a row of a matrix shows the difference. `fields`: only the exact fields or values show it (a matrix names
 * views and relations, and the mistake is in their meaning), so a case with steps has to name them.
 */
export type Witness =
  | { readonly kind: 'cell'; readonly cell: Cell; readonly expected: Expected }
  | {
      readonly kind: 'fields'
      readonly cell: Cell
      readonly expected: Expected
      readonly value?: FieldValue
      /** The relation or condition that must hold in one meaning only. */
      readonly meaning?: string
      /** Of a condition: a request that meets it in one meaning only. */
      readonly telling?: ConditionFacts
      /** The gateway that proves itself and asks. */
      readonly asksFor?: string
    }

/** The value that the object must have for the answers to differ. */
export interface FieldValue {
  readonly field: string
  readonly value: Json
}

/** A body that the schema refuses is a poor example. */
const INVALID = 400

/** Whether a row of a matrix shows it, with a valid body. */
export function isGood({ kind, expected }: Witness): boolean {
  return kind === 'cell' && expected.status !== INVALID
}

/** How many further requests are tried after one that no row can show, or that is a poor example. */
const MOST_FURTHER = 100

/** The first of these cells with different answers; cells that a row can show come first. */
export async function findWitness(
  predictor: Predictor,
  pair: Pair,
  cells: Iterable<Cell>,
  tries: Tries,
): Promise<Witness | undefined> {
  let fallback: Witness | undefined
  let further = 0
  for (const cell of cells) {
    if (!tries.count(cell) || (fallback && further++ > MOST_FURTHER)) break
    const witness = await witnessIn(predictor, pair, cell)
    if (witness && isGood(witness)) return witness
    if (fallback?.kind !== 'cell') fallback = witness?.kind === 'cell' ? witness : (fallback ?? witness)
  }
  return fallback
}

/** The answers of the policy without mistakes, which each mutant is compared with. */
const known = new WeakMap<EvaluatedPolicy, Map<string, Promise<Prediction>>>()

export async function witnessIn(
  predictor: Predictor,
  { before, after }: Pair,
  asked: Cell,
): Promise<Witness | undefined> {
  const apart = apartIn(predictor, [before, after], asked)
  const cell = apart.length > 0 ? { ...asked, apart } : asked
  const expected = await known
    .getOrInsertComputed(before, () => new Map<string, Promise<Prediction>>())
    .getOrInsertComputed(JSON.stringify(cell), () => predictCell(predictor, before, cell))
  if (expected.kind !== 'answer') return undefined
  const mutated = await predictCell(predictor, after, cell)
  const [usual = { status: expected.answer.status }] = describe(expected)
  // A file of bodies can't hold the id that a caller will have.
  const kind = cell.content && namesCaller(cell.content) ? 'fields' : 'cell'
  if (mutated.kind !== 'answer') return { kind, cell, expected: usual }
  const telling = describe(expected).find((words) => !answers(mutated, words))
  if (telling) return { kind, cell, expected: telling }
  // The same objects, even if relations mean something else now.
  const { ownership } = before.policy
  const fixtureOf: Predictor['fixtureOf'] = (_, one) => predictor.fixtureOf(before.policy, one)
  const isSameSetup = ownership === after.policy.ownership
  const same = isSameSetup ? mutated : await predictCell({ ...predictor, fixtureOf }, after, cell)
  const differs = same.kind === 'answer' && !isDeepStrictEqual(seenIn(expected.answer), seenIn(same.answer))
  return differs ? { kind: 'fields', cell, expected: usual } : undefined
}

/** A list needs objects that the rules of either policy tell apart. */
function apartIn({ routeMethods }: Predictor, policies: readonly EvaluatedPolicy[], cell: Cell): readonly string[] {
  const routeMethod = routeMethods.get(`${cell.method} ${cell.path}`)
  if (routeMethod?.endpoint.operation !== 'list') return []
  return [...new Set(policies.flatMap(({ policy }) => listingRelations(policy, routeMethod)))].sort()
}

/** The answer before the change, if the one after it differs. */
export async function differing(
  { predict }: Predictor,
  { before, after }: Pair,
  request: Omit<PredictedRequest, 'evaluated'>,
): Promise<Expected | undefined> {
  const expected = await predict({ ...request, evaluated: before })
  const changed = await predict({ ...request, evaluated: after })
  return isDeepStrictEqual(seenIn(expected), seenIn(changed)) ? undefined : { status: expected.status }
}

/** What a client can see of an answer, without new ids and times. */
function seenIn({ status, shown, items }: Answer): unknown {
  const fields = shown && Object.keys(shown).sort()
  const rows = items?.map((item) => [item.object.id, Object.keys(item.shown).sort()])
  return [status, fields, rows]
}

export interface Paste {
  /** A matrix of one row, with its head. */
  readonly rows: string
  /**
   * The body that the row sends if the smallest body doesn't show the difference: a file of bodies/ and its content.
   */
  readonly body?: { readonly file: string; readonly json: string }
}

export function pasteOf({ cell, expected }: Witness): Paste {
  const { method, column, content } = cell
  const file = content && `${method.toLowerCase()}-${Object.keys(content).join('-') || 'nothing'}.json`
  const rows = matrixText([column], [{ ...cell, methods: [method], file, answers: [expected] }])
  return file === undefined ? { rows } : { rows, body: { file, json: JSON.stringify(content) } }
}

/** In one search for a witness. Each request is predicted twice. */
const MOST_TRIED = 3000

/** More routes and callers aren't named one by one. */
const MOST_NAMED = 4

export class Tries {
  #requests = 0
  #most = MOST_TRIED
  readonly #routes = new Set<string>()
  readonly #callers = new Set<string>()

  /** Another search begins, which may try as many requests again. */
  begin(): void {
    this.#most = this.#requests + MOST_TRIED
  }

  get isOver(): boolean {
    return this.#requests >= this.#most
  }

  /** Counts a request; false if it would be one too many. */
  count({ method, path, column }: Cell): boolean {
    if (this.isOver) return false
    this.#requests++
    this.#routes.add(`${method} ${path}`)
    this.#callers.add(columnText(column))
    return true
  }

  /** `34 requests: GET /api/orders, PATCH /api/orders/{id}, as member, support` */
  get text(): string {
    if (this.#requests === 0) return 'no request: no row of a matrix is about this'
    const requests = count(this.#requests, 'request')
    return `${requests}: ${named(this.#routes)}, as ${named(this.#callers)}`
  }
}

function named(names: ReadonlySet<string>): string {
  const more = names.size - MOST_NAMED
  const some = [...names].slice(0, MOST_NAMED).join(', ')
  return more > 0 ? `${some} and ${more} more` : some
}
