/** The four places that the trusted key can come from: what is tried on one is tried on all. */
import { expect } from 'chai'
import type { TokenVerifier } from '../../src/identity/caller.ts'
import { fixedKeys } from '../../src/identity/keys/embedded/key-ring.ts'
import type { KeySource } from '../../src/identity/keys/verification-keys.ts'
import { createTokenVerifier } from '../../src/identity/tokens/token-verifier.ts'
import { keySet, Loopback, provider } from './loopback.ts'
import { ask } from './outcome.ts'
import { AUDIENCE, asEmbedded, ISSUER, type Signer } from './signer.ts'

const CLAIM_NAMES = { subject: ['sub'], roles: ['roles'], subjectPrefix: '' }

/** Makes a `describe` for each source. `verify` gives an outcome in one word, for a key that is `signer`'s. */
export function describeEachSource(
  title: string,
  signer: Signer,
  tests: (verify: (token: string) => Promise<string>) => void,
): void {
  for (const kind of ['embedded', 'public-key', 'jwks', 'openid'] as const) {
    describe(`${title} (${kind})`, () => {
      let keys: Loopback
      let verifier: TokenVerifier

      before(async () => {
        keys = await Loopback.start(keySet(signer.jwk))
        if (kind === 'openid') keys.answer = provider(keys, keys.answer)
        verifier = createTokenVerifier({
          keys: await sourceOf(kind, signer, keys),
          issuer: ISSUER,
          audience: AUDIENCE,
          claims: kind === 'openid' ? CLAIM_NAMES : undefined,
        })
        expect(await ask(verifier, signer.token())).to.equal('caller alice')
      })
      after(() => keys.stop())

      tests((token) => ask(verifier, token))
    })
  }
}

async function sourceOf(kind: KeySource['kind'], signer: Signer, { url, origin }: Loopback): Promise<KeySource> {
  switch (kind) {
    case 'embedded':
      return { kind, keys: fixedKeys([await asEmbedded(signer)]) }
    case 'public-key':
      return { kind, text: signer.pem }
    case 'jwks':
      return { kind, url }
    case 'openid':
      return { kind, issuer: origin }
  }
}
