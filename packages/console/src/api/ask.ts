/**
 * Questions to the server. One that finds nobody signed in waits for the sign-in, and one that finds no server is asked
 * again, so pages only know answers and refusals.
 */
import { inSlices } from '../parts/slices.ts'
import { createStore } from '../parts/store.ts'
import { parseInSteps } from './long-json.ts'
import { type Problem, problemIn } from './problem.ts'
import { accepted, authorization, currentToken, renew, signedIn } from './session.ts'

/** Answers that come from a command. */
export interface Told<T> {
  /** The same question on a command line. */
  readonly command: string
  /** The command's exit code was 1. */
  readonly findings: boolean
  readonly result: T
}

export class Refused extends Error {
  readonly problem: Problem
  constructor(problem: Problem) {
    super(problem.sentence)
    this.problem = problem
  }
}

/** Why questions wait; undefined while the server answers. */
export const trouble = createStore<string | undefined>(undefined)

const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 10_000

/** Asked twice, they may happen twice. */
const ACTS = ['propose', 'approve', 'reject', 'withdraw', 'publish', 'block', 'unblock', 'break-glass', 'review-glass']
const ONCE = [...ACTS, 'approve-grant', 'revoke-grant'].map((word) => `/policy/v1/${word}`)

/** What only asks for a text to sign does nothing. */
function isAct(path: string, body: object | undefined): boolean {
  return ONCE.includes(path) && !(body && 'key' in body && String(body.key).startsWith('to-sign:'))
}

/** Throws Refused, and what the signal throws. A question without a body is a GET. */
export async function ask<T>(path: string, body?: object, signal?: AbortSignal): Promise<T> {
  const answer = await askFor(path, body, signal)
  try {
    return (await inSlices(parseInSteps(await textOf(answer)), signal)) as T
  } catch {
    signal?.throwIfAborted()
    throw refusedHere(0, isAct(path, body) ? NOT_KNOWN : 'The answer was cut off: ask again.')
  }
}

/** Decoded piece by piece: all of a long answer at once would hold up the page. */
async function textOf(answer: Response): Promise<string> {
  const reader = (await answer.blob()).stream().pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  for (let part = await reader.read(); part.value !== undefined; part = await reader.read()) text += part.value
  return text
}

/** The answer as it comes. Throws as `ask` does. */
export async function askFor(path: string, body?: object, signal?: AbortSignal): Promise<Response> {
  const person = signedIn()
  const pause = growingPause()
  for (;;) {
    const token = await currentToken(person)
    signal?.throwIfAborted()
    if (token === undefined) throw refusedHere(401, 'You have signed out: it was not asked again.')
    const answer = await fetch(path, request(token, body, signal)).catch(() => undefined)
    if (answer && answer.status !== 401) accepted(token)
    signal?.throwIfAborted()
    if (isAct(path, body)) await refuseAgain(answer)
    const again = await whyAgain(answer, token)
    trouble.set(again)
    if (again !== undefined) await pause()
    else if (answer?.ok) return answer
    else if (answer && answer.status !== 401) throw new Refused(await problemIn(answer))
  }
}

const NOT_KNOWN = 'The server did not answer. Look whether it was done, before you try again.'

function refusedHere(status: number, sentence: string): Refused {
  return new Refused({ status, code: '', sentence })
}

function request(token: string, body: object | undefined, signal: AbortSignal | undefined): RequestInit {
  const headers = authorization(token)
  const rest = signal ? { signal } : {}
  if (!body) return { headers, ...rest }
  return {
    method: 'POST',
    headers: { ...headers, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
    ...rest,
  }
}

/** Of an act: the gate answers 401 before anything is done, and all else that is no answer ends it. */
async function refuseAgain(answer: Response | undefined): Promise<void> {
  if (!answer) throw refusedHere(0, NOT_KNOWN)
  if (answer.status !== 429 && answer.status < 500) return
  const problem = await problemIn(answer.clone())
  const isKnown = answer.status < 500 || (answer.status === 503 && !['', 'read-too-long'].includes(problem.code))
  throw isKnown ? new Refused(problem) : refusedHere(answer.status, NOT_KNOWN)
}

/** Undefined for an answer that stands, or that another token changes. */
async function whyAgain(answer: Response | undefined, token: string): Promise<string | undefined> {
  const lost = 'The server does not answer; trying again.'
  if (!answer) return lost
  if (answer.status === 401) {
    const isLost = await renew(token).then(
      () => false,
      () => true,
    )
    return isLost ? lost : undefined
  }
  if (answer.status !== 429 && answer.status !== 503) return undefined
  const { code, sentence } = await problemIn(answer.clone())
  // It would take as long again.
  return code === 'read-too-long' ? undefined : `${sentence} Trying again.`
}

/** Each pause is twice as long as the one before. */
export function growingPause(): () => Promise<void> {
  let next = FIRST_WAIT_MS
  return () => {
    const wait = next
    next = Math.min(2 * wait, LONGEST_WAIT_MS)
    return new Promise((resolve) => {
      setTimeout(resolve, wait)
    })
  }
}
