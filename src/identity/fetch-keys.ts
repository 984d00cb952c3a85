/** Asks the key server for its keys: bounded in time and size, redirects not followed, and faults told apart. */
import type { FetchImplementation } from 'jose'

const MAX_BYTES = 256 * 1024

const TOO_MANY_REQUESTS = 429

/** The server of the keys is at fault, not the token: out of reach, or its answer is no key set. */
export class KeyServerFault extends Error {
  readonly code: 'key-server-unavailable' | 'key-server-invalid'

  constructor(code: KeyServerFault['code'], cause: unknown) {
    super('the key server gave no usable answer', { cause })
    this.name = 'KeyServerFault'
    this.code = code
  }
}

/** A `fetch` for jose that resolves to a key set or throws KeyServerFault. The signal bounds the body as well. */
export const fetchKeys: FetchImplementation = async (url, options) => {
  const response = await reach(() => fetch(url, { ...options, redirect: 'manual' }))
  const { status } = response
  if (status !== 200) {
    await reach(async () => response.body?.cancel())
    const passing = status >= 500 || status === TOO_MANY_REQUESTS
    throw new KeyServerFault(passing ? 'key-server-unavailable' : 'key-server-invalid', new Error(`status ${status}`))
  }
  const text = await reach(() => readBounded(response))
  if (!isKeySet(text)) throw new KeyServerFault('key-server-invalid', new Error('not a JSON Web Key Set'))
  return new Response(text)
}

async function reach<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    throw error instanceof KeyServerFault ? error : new KeyServerFault('key-server-unavailable', error)
  }
}

async function readBounded({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.length
    if (size > MAX_BYTES) throw new KeyServerFault('key-server-invalid', new Error(`more than ${MAX_BYTES} bytes`))
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** RFC 7517 section 5. */
function isKeySet(text: string): boolean {
  try {
    const { keys } = JSON.parse(text) as { keys?: unknown }
    return Array.isArray(keys) && keys.every((key) => typeof key === 'object' && key !== null && !Array.isArray(key))
  } catch {
    return false
  }
}
