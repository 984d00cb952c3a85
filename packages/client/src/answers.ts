/** What the bodies of answers mean. Anything but what the standard says is an error, never a decision. */
import type { Decision, Found, Properties, Searched, Searches, Semantic } from './entities.ts'
import { AuthzenError } from './error.ts'
import { isObject } from './transport/caller.ts'

type Body = Readonly<Record<string, unknown>>

/** Throws AuthzenError. */
export function readDecision(body: unknown): Decision {
  if (!isObject(body)) throw invalid('a decision is no object')
  const { decision, context } = body
  if (typeof decision !== 'boolean') throw invalid('a decision has no boolean `decision`')
  if (context === undefined || context === null) return { decision }
  if (!isObject(context)) throw invalid('the `context` of a decision is no object')
  return { decision, context }
}

/** Of a batch of so many questions: one for each, unless the semantic stopped it. Throws AuthzenError. */
export function readDecisions(body: Body, asked: number, semantic: Semantic): readonly Decision[] {
  const { evaluations } = body
  if (!Array.isArray(evaluations)) throw invalid('the answer to a batch has no list `evaluations`')
  const decisions = evaluations.map((one) => withoutFault(readDecision(one)))
  const stop = decisions.findIndex((one) => stops(one, semantic))
  const expected = stop < 0 ? asked : stop + 1
  if (decisions.length !== expected) {
    throw invalid(`the answer to a batch has ${decisions.length} decisions, and ${expected} were expected`)
  }
  return decisions
}

export function stops({ decision }: Decision, semantic: Semantic): boolean {
  if (semantic === 'execute_all') return false
  return decision === (semantic === 'permit_on_first_permit')
}

/**
 * Why an item of a batch couldn't be decided (`context.error` of the standard); undefined where it was decided.
 * Whatever its `decision` says: an item with an error is no permit.
 */
export function faultOfItem({ context }: Decision): AuthzenError | undefined {
  const error = context?.error
  if (error === undefined || error === null) return undefined
  const { status, message } = isObject(error) ? error : {}
  return new AuthzenError('item-failed', 'the policy decision point could not decide this question of a batch', {
    status: typeof status === 'number' ? status : undefined,
    answered: typeof message === 'string' ? message : undefined,
  })
}

function withoutFault(decision: Decision): Decision {
  return decision.decision && faultOfItem(decision) ? { ...decision, decision: false } : decision
}

/** Nobody knows what an obligation asks for, unless the program does. */
export function obligationsOf({ context }: Decision): unknown {
  const obligations = context?.obligations
  if (obligations === undefined || obligations === null) return undefined
  return Array.isArray(obligations) && obligations.length === 0 ? undefined : obligations
}

/** `type` is that of the searched entities; actions have none. Throws AuthzenError. */
export function readFound<K extends Searched>(
  kind: K,
  type: string | undefined,
  body: Body,
): Found<Searches[K]['found']> {
  const { results, context } = body
  if (!Array.isArray(results)) throw invalid('the answer to a search has no list `results`')
  if (!results.every((one) => isEntity(kind, type, one))) throw invalid('a result is not of the searched kind')
  if (context !== undefined && context !== null && !isObject(context)) throw invalid('the `context` is no object')
  return { results, nextToken: readNextToken(body.page), context: (context as Properties | null) ?? undefined }
}

function isEntity(kind: Searched, type: string | undefined, value: unknown): boolean {
  if (!isObject(value)) return false
  if (kind === 'action') return typeof value.name === 'string'
  return value.type === type && typeof value.id === 'string'
}

function readNextToken(page: unknown): string | undefined {
  if (page === undefined || page === null) return undefined
  if (!isObject(page)) throw invalid('the `page` of a search is no object')
  const { next_token: token } = page
  if (token === undefined || token === null || token === '') return undefined
  if (typeof token !== 'string') throw invalid('the `next_token` of a search is no string')
  return token
}

function invalid(message: string): AuthzenError {
  return new AuthzenError('invalid-answer', message)
}
