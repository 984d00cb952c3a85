/** What the server sends to sign must be what the person asked for: a key signs nothing else. */

interface Asked {
  readonly path: string
  readonly body: { readonly title?: string }
  /** The thumbprint of the person's key. */
  readonly kid: string
}

const SAYS: Readonly<Record<string, string>> = {
  '/policy/v1/approve': 'approved',
  '/policy/v1/reject': 'rejected',
  '/policy/v1/withdraw': 'withdrawn',
}

/** Undefined for a text that may be signed. */
export function whyNotToSign(toSign: string, { path, body, kid }: Asked): string | undefined {
  const [header, payload, ...more] = toSign.split('.').map(membersIn)
  if (!header || !payload || more.length > 0) return 'a text that is not one of a header and a payload'
  if (header.alg !== 'EdDSA' || header.kid !== kid) return 'a text for another key'
  const says = SAYS[path]
  if (header.typ !== (says === undefined ? 'sallyport-proposal' : 'sallyport-approval')) return 'a text of another kind'
  if (says !== undefined && payload.says !== says) return `a text that does not say \`${says}\``
  return payload.title === body.title || !path.endsWith('/propose') ? undefined : 'a proposal with another title'
}

/** Undefined unless it is an object in base64url. */
function membersIn(part: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const bytes = Uint8Array.from(atob(part.replaceAll('-', '+').replaceAll('_', '/')), (one) => one.charCodeAt(0))
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    return typeof value === 'object' && value !== null ? { ...value } : undefined
  } catch {
    return undefined
  }
}
