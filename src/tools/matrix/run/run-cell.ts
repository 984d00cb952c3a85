/** Tries one cell on a stage: sets it up, asks, and judges the answer. */
import type { Representation } from '../../../resources/resource.ts'
import { columnText, type Expectation, expectedText, isUnconditional, objectText } from '../read/expectation.ts'
import { type HttpAnswer, type HttpRequest, NoAnswer } from '../target/http.ts'
import { CannotSetUp, type Stage } from '../target/server-under-test.ts'
import { type Bound, bind, type Ground } from './bind.ts'
import { conditionOf } from './current-tag.ts'
import { explainCommand } from './explain-command.ts'
import { judge } from './judge.ts'
import { exchangeOf, type Result } from './result.ts'
import { type Scene, setUp } from './set-up.ts'
import { rulesBehind } from './verdict.ts'

/** Pages of a list that are read to the end; a longer one isn't of a test. */
const MOST_PAGES = 500

type Tried = Pick<Result, 'outcome' | 'why' | 'cause' | 'exchanges' | 'status'>

/** Never rejects but for a fault of the program: what can't be tried is a result. */
export async function runCell(ground: Ground, stage: Stage, expectation: Expectation): Promise<Result> {
  const started = performance.now()
  const tried = await tryCell(ground, stage, expectation)
  const failed = tried.outcome === 'failed'
  return {
    kind: 'cell',
    title: titleOf(expectation),
    place: expectation.place,
    ...tried,
    ...(failed ? { explain: explainCommand(expectation, ground.folders) } : {}),
    milliseconds: performance.now() - started,
    expectation,
  }
}

/** One line that tells cells apart. */
export function titleOf({ method, path, object, column, body, note, expected }: Expectation): string {
  const about = [objectText(object), body?.replace(/^.*[\\/]/, ''), note].filter(Boolean).join(', ')
  return `${method} ${path} (${about}) as ${columnText(column)} is ${expectedText(expected)}`
}

async function tryCell(ground: Ground, stage: Stage, expectation: Expectation): Promise<Tried> {
  const binding = bind(ground, expectation)
  if (binding.kind === 'unusable') return impossible(binding.why)
  try {
    return await tryBound(ground, stage, binding.bound)
  } catch (error) {
    if (error instanceof CannotSetUp || error instanceof NoAnswer) return impossible(error.message)
    throw error
  }
}

async function tryBound(ground: Ground, stage: Stage, bound: Bound): Promise<Tried> {
  const scene = await setUp(ground, stage, bound)
  const request = await requestOf(ground, stage, bound, scene)
  const answer = await stage.ask(request, bound.expectation.expected.status)
  await stage.note(bound.resource.name, answer, scene.caller?.token)
  const rows = looksIntoList(bound) && answer.status === 200 ? await readRows(stage, request, answer) : undefined
  const why = judge(bound, scene, { answer, ...(rows ? { rows } : {}) })
  const { status } = answer
  if (why === undefined) return { outcome: 'passed', exchanges: [], status }
  const rules = looksIntoList(bound) ? undefined : rulesBehind(ground, bound, scene, status)
  const behind = rules === undefined ? { why } : { why: `${why}; ${rules}`, cause: rules }
  return { outcome: 'failed', ...behind, exchanges: [exchangeOf(request, answer)], status }
}

async function requestOf(
  { policy }: Ground,
  stage: Stage,
  bound: Bound,
  { caller, path, id, body }: Scene,
): Promise<HttpRequest> {
  const { expectation, route, resource } = bound
  const { method } = expectation
  const query = looksIntoList(bound) ? `?limit=${policy.limits.page.max}` : ''
  const plain = { method, url: stage.url + path + query, token: caller?.token, body }
  if (isUnconditional(expectation)) return plain
  return { ...plain, headers: await conditionOf(stage, { route, resource, method, id }, plain) }
}

function looksIntoList({ endpoint, expectation }: Bound): boolean {
  const { expected, method } = expectation
  return endpoint?.operation === 'list' && method === 'GET' && (expected.list ?? expected.view) !== undefined
}

/** The rows of all pages. */
async function readRows(stage: Stage, request: HttpRequest, first: HttpAnswer): Promise<readonly Representation[]> {
  const rows: Representation[] = []
  let answer = first
  for (let page = 1; ; page++) {
    const { items = [], next = null } = (answer.json ?? {}) as {
      items?: readonly Representation[]
      next?: string | null
    }
    rows.push(...items)
    if (next === null || page === MOST_PAGES) return rows
    answer = await stage.ask({ ...request, url: `${request.url}&cursor=${encodeURIComponent(next)}` })
  }
}

function impossible(why: string): Tried {
  return { outcome: 'impossible', why: `can't be tried: ${why}`, exchanges: [] }
}
