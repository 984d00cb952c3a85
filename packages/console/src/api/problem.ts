/** A refusal of the API (RFC 9457), as one sentence. */

export interface Problem {
  readonly status: number
  /** Stable; empty for an answer of something in between, such as a proxy. */
  readonly code: string
  readonly sentence: string
}

export async function problemIn(answer: Response): Promise<Problem> {
  const { status } = answer
  const body: unknown = await answer.json().catch(() => undefined)
  if (!isDocument(body)) return { status, code: '', sentence: `The server answered ${status}; try again.` }
  // The command's own sentence tells more than that of the problem.
  const [error] = body.errors ?? []
  return { status, code: body.code ?? '', sentence: error?.detail ?? body.detail }
}

interface ProblemDocument {
  readonly code?: string
  readonly detail: string
  readonly errors?: readonly { readonly detail: string }[]
}

function isDocument(body: unknown): body is ProblemDocument {
  return typeof body === 'object' && body !== null && 'detail' in body && typeof body.detail === 'string'
}
