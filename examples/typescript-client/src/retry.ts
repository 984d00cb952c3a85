/** Tries again where that is safe and may help, and waits for as long as the server says. */

const ATTEMPTS = 5

/** A second PUT or DELETE does no more than the first; a POST needs a key by which the server knows it again. */
const REPEATABLE = ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']

export async function fetchWithRetries(request: Request): Promise<Response> {
  const repeatable = REPEATABLE.includes(request.method) || request.headers.has('Idempotency-Key')
  for (let attempt = 1; ; attempt++) {
    const last = attempt === ATTEMPTS
    try {
      const response = await fetch(request.clone())
      if (last || !mayHelp(response, repeatable)) return response
      await response.body?.cancel()
      await sleep(secondsToWait(attempt, response))
    } catch (error) {
      // No answer: nobody knows whether the server did it.
      if (last || !repeatable) throw error
      await sleep(secondsToWait(attempt))
    }
  }
}

/** 429 was refused before anything was done; 409 with Retry-After says that another request is still at it. */
function mayHelp({ status, headers }: Response, repeatable: boolean): boolean {
  if (status === 429) return true
  return repeatable && (status >= 502 || (status === 409 && headers.has('Retry-After')))
}

/** At least what Retry-After says, and longer each time; the random part keeps clients from coming back all at once. */
function secondsToWait(attempt: number, response?: Response): number {
  const asked = Number(response?.headers.get('Retry-After') ?? 0)
  return asked + 0.1 * 2 ** attempt * Math.random()
}

function sleep(seconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, seconds * 1000))
}
