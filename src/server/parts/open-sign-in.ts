/** Puts together sign-in to the embedded directory, for a server that issues its own tokens. */
import type { Config } from '../../config/config.ts'
import type { KeyRing } from '../../identity/keys/embedded/key-ring.ts'
import { createGuessing } from '../../identity/sign-in/guessing.ts'
import { createPasswords } from '../../identity/sign-in/password.ts'
import { createSignIn, type SignIn } from '../../identity/sign-in/sign-in.ts'
import { issueToken } from '../../identity/tokens/issue-token.ts'
import type { Store } from '../../store/contract.ts'
import type { Attempts, Directory } from '../../store/directory.ts'

interface SignInParts {
  readonly keys: Pick<KeyRing, 'signer'>
  readonly store: Pick<Store, 'secret'>
  readonly directory: Directory
  readonly attempts: Attempts
  readonly now: () => Date
}

/** RFC 9068 section 2.2: a token names its client. People who sign in here sign in to this server. */
const CLIENT = 'sallyport'

export async function openSignIn({ tokens }: Config, parts: SignInParts): Promise<SignIn> {
  const { keys, store, directory, attempts } = parts
  const now = () => parts.now().getTime()
  const { issuer, audience } = tokens
  return createSignIn({
    directory,
    passwords: createPasswords(),
    guessing: createGuessing(attempts, await store.secret('guessing'), now),
    issue: (request) => issueToken(keys.signer(), { ...request, issuer, audience, claims: { client_id: CLIENT } }),
    now,
  })
}
