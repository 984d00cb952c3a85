/**
 * Questions to the server. One that finds nobody signed in waits for the sign-in, and one that finds no server is asked
 * again, so pages only know answers and refusals.
 */
import { createStore } from '../parts/store.ts'
import { type Problem, problemIn } from './problem.ts'
import { authorization, currentToken, renew } from './session.ts'

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

/** Throws Refused, and what the signal throws. A question without a body is a GET. */
export async function ask<T>(path: string, body?: object, signal?: AbortSignal): Promise<T> {
  return (await askFor(path, body, signal)).json()
}

/** The answer as it comes. Throws as `ask` does. */
export async function askFor(path: string, body?: object, signal?: AbortSignal): Promise<Response> {
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(2 * wait, LONGEST_WAIT_MS)) {
    const token = await currentToken()
    signal?.throwIfAborted()
    const answer = await fetch(path, request(token, body, signal)).catch(() => undefined)
    signal?.throwIfAborted()
    const again = await whyAgain(answer, token)
    trouble.set(again)
    if (again !== undefined) await pause(wait)
    else if (answer?.ok) return answer
    else if (answer && answer.status !== 401) throw new Refused(await problemIn(answer))
  }
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
  if (answer.status === 429 || answer.status === 503) return `${(await problemIn(answer)).sentence} Trying again.`
  return undefined
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds)
  })
}
