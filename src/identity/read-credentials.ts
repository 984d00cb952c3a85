/** The credentials of a request, as its headers carry them (RFC 6750 section 2.1). More kinds can join the union. */

export type Credentials =
  | { readonly kind: 'none' }
  | { readonly kind: 'bearer'; readonly token: string }
  | { readonly kind: 'rejected'; readonly reason: string }

/** `rawHeaders` alternates names and values: Node's parsed headers hide a second Authorization. */
export function readCredentials(rawHeaders: readonly string[]): Credentials {
  const values: string[] = []
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.toLowerCase() === 'authorization') values.push(rawHeaders[i + 1] ?? '')
  }
  const [value] = values
  if (value === undefined) return { kind: 'none' }
  if (values.length > 1) return { kind: 'rejected', reason: 'several Authorization headers' }
  const token = /^bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(value)?.[1]
  return token === undefined ? { kind: 'rejected', reason: 'not a bearer token' } : { kind: 'bearer', token }
}
