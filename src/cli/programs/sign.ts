/** Signs tokens by the embedded key, for commands. */
import type { Config } from '../../config.ts'
import { noteTokenEnd, openEmbeddedKey, openKeyFolder } from '../../identity/keys/key-folder.ts'
import { issueToken } from '../../identity/tokens/issue-token.ts'

interface TokenRequest {
  readonly subject: string
  readonly roles: readonly string[]
  readonly lifetimeSeconds: number
}

/** The key outlasts the token, also when it is rotated. */
export async function sign({ tokens, dataDirectory }: Config, request: TokenRequest): Promise<string> {
  const folder = await openKeyFolder(dataDirectory)
  const key = await openEmbeddedKey(dataDirectory)
  await noteTokenEnd(folder, key.kid, Date.now() + request.lifetimeSeconds * 1000)
  return issueToken(key, { ...request, issuer: tokens.issuer, audience: tokens.audience })
}
