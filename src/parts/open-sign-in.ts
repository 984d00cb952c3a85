/** Puts together signing in to the embedded directory, where tokens are made here. */
import type { Config } from '../config.ts'
import type { EmbeddedKey } from '../identity/embedded-key.ts'
import { createGuessing } from '../identity/guessing.ts'
import { issueToken } from '../identity/issue-token.ts'
import { createPasswords } from '../identity/password.ts'
import { createSignIn, type SignIn } from '../identity/sign-in.ts'
import type { Attempts } from '../store/attempts.ts'
import type { Store } from '../store/contract.ts'
import type { Directory } from '../store/directory.ts'

interface Ground {
  readonly key: EmbeddedKey
  readonly store: Pick<Store, 'secret'>
  readonly directory: Directory
  readonly attempts: Attempts
  readonly now: () => Date
}

/** RFC 9068 section 2.2 wants to know for which client a token is: whoever signs in here signs in to this server. */
const CLIENT = 'sallyport'

export async function openSignIn({ tokens }: Config, ground: Ground): Promise<SignIn> {
  const { key, store, directory, attempts } = ground
  const now = () => ground.now().getTime()
  const { issuer, audience } = tokens
  return createSignIn({
    directory,
    passwords: createPasswords(),
    guessing: createGuessing(attempts, await store.secret('guessing'), now),
    issue: (request) => issueToken(key, { ...request, issuer, audience, claims: { client_id: CLIENT } }),
    now,
  })
}
