import { mock } from 'node:test'
import { expect } from 'chai'
import fc from 'fast-check'
import type { Authentication, KeyedVerifier, TokenVerifier } from '../../src/identity/caller.ts'
import { fixedKeys } from '../../src/identity/keys/embedded/key-ring.ts'
import { rememberTokens } from '../../src/identity/tokens/remembered-tokens.ts'
import { createTokenVerifier } from '../../src/identity/tokens/token-verifier.ts'
import { keySet, Loopback } from './loopback.ts'
import { ask } from './outcome.ts'
import { AUDIENCE, asEmbedded, claims, ed25519, ISSUER, now } from './signer.ts'

const SIGNERS = [ed25519('first'), ed25519('second'), ed25519('third')] as const
const [FIRST] = SIGNERS

describe('a token that was verified before', () => {
  afterEach(() => mock.timers.reset())

  it('is not verified again, and its outcome is there at once', async () => {
    const counted = await counting()
    const verifier = rememberTokens(counted)
    const token = FIRST.token()
    const first = await verifier.verify(token)
    const again = verifier.verify(token)
    expect(again).to.equal(first)
    expect(counted.verified).to.equal(1)
    expect(await ask(verifier, `${token}A`)).to.equal('token-invalid')
  })

  it('that was refused is verified each time', async () => {
    const counted = await counting()
    const verifier = rememberTokens(counted)
    for (let i = 0; i < 3; i++) expect(await ask(verifier, ed25519('first').token())).to.equal('token-invalid')
    expect(counted.verified).to.equal(3)
  })

  it('has ended at the second that it names', async () => {
    const verifier = rememberTokens(await embedded())
    const exp = now() + 60
    const token = FIRST.token(claims({ exp }))
    expect(await ask(verifier, token)).to.equal('caller alice')
    setClock(exp * 1000 - 1)
    expect(await ask(verifier, token)).to.equal('caller alice')
    setClock(exp * 1000)
    expect(await ask(verifier, token)).to.equal('token-expired')
  })

  it('is not valid yet when the clock is set back', async () => {
    const verifier = rememberTokens(await embedded())
    const nbf = now() - 60
    const token = FIRST.token(claims({ nbf }))
    expect(await ask(verifier, token)).to.equal('caller alice')
    setClock((nbf - 1) * 1000)
    expect(await ask(verifier, token)).to.equal('token-invalid')
  })

  it('is forgotten when a key goes, also one that goes while it is used', async () => {
    let generation = 1
    const counted = await counting(() => generation)
    const verifier = rememberTokens(counted)
    const token = FIRST.token()
    await verifier.verify(token)
    generation = 2
    await verifier.verify(token)
    expect(counted.verified).to.equal(2)
    const other = FIRST.token(claims({ sub: 'bob' }))
    const asked = verifier.verify(other)
    generation = 3
    await asked
    await verifier.verify(other)
    expect(counted.verified).to.equal(4)
  })

  it('is not remembered while nobody can tell whether the keys are the same', async () => {
    const counted = await counting(() => undefined)
    const verifier = rememberTokens(counted)
    const token = FIRST.token()
    await verifier.verify(token)
    await verifier.verify(token)
    expect(counted.verified).to.equal(2)
  })

  it('is forgotten when many others came after it, and remembered when it is used among them', async () => {
    const verified: string[] = []
    const caller = { id: 'alice', roles: [], claims: {} }
    const found: Authentication = { kind: 'caller', caller, valid: { from: 0, until: Number.POSITIVE_INFINITY } }
    const verifier = rememberTokens({
      keyGeneration: () => 0,
      verify: async (token) => {
        verified.push(token)
        return found
      },
    })
    for (const token of ['used', 'unused']) await verifier.verify(token)
    for (let i = 0; i < 26_000; i++) {
      await verifier.verify(String(i))
      await verifier.verify('used')
    }
    await verifier.verify('unused')
    expect(verified.filter((token) => token === 'used')).to.have.length(1)
    expect(verified.filter((token) => token === 'unused')).to.have.length(2)
    const long = Array.from({ length: 3000 }, (_, i) => String(i).padStart(8000, '_'))
    for (const token of long) await verifier.verify(token)
    await verifier.verify(long[0] ?? '')
    expect(verified.filter((token) => token === long[0])).to.have.length(2)
  })

  it('of a million characters is refused as if it had never been looked for', async () => {
    const verifier = rememberTokens(await embedded())
    const token = 'a'.repeat(1_000_000)
    const started = performance.now()
    for (let i = 0; i < 100; i++) expect(await ask(verifier, token)).to.equal('token-invalid')
    expect((performance.now() - started) / 100).to.be.below(50)
  })
})

type Step =
  | { readonly kind: 'issue'; readonly by: number; readonly lasts: number; readonly starts: number }
  | { readonly kind: 'ask'; readonly which: number }
  | { readonly kind: 'elapse'; readonly seconds: number }
  | { readonly kind: 'rotate'; readonly keys: readonly number[] }

const signerIndex = fc.nat({ max: SIGNERS.length - 1 })
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('issue' as const),
      by: signerIndex,
      lasts: fc.nat(1500),
      starts: fc.integer({ min: -9, max: 9 }),
    }),
  },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('ask' as const), which: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('elapse' as const), seconds: fc.nat(400) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('rotate' as const), keys: fc.uniqueArray(signerIndex) }) },
)

describe('random sequences of tokens, of time and of keys that change', () => {
  let keys: Loopback
  before(async () => {
    keys = await Loopback.start(keySet())
  })
  after(() => keys.stop())
  afterEach(() => mock.timers.reset())

  it('get the same answers from a verifier that remembers', async () => {
    const steps = fc.array(step, { minLength: 10, maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(steps, (some) => agree(some, rememberTokens)),
      { numRuns: 60 },
    )
  })

  it('get other answers from one that looks at neither time nor keys, so the comparison can fail', async () => {
    const careless = (verifier: KeyedVerifier) => {
      const known = new Map<string, Authentication>()
      return {
        verify: async (token: string) => {
          const found = known.get(token) ?? (await verifier.verify(token))
          known.set(token, found)
          return found
        },
      }
    }
    const steps = fc.array(step, { minLength: 20, maxLength: 40 })
    const property = fc.asyncProperty(steps, (some) => agree(some, careless))
    expect((await fc.check(property, { seed: 1, numRuns: 60, endOnFailure: true })).failed).to.equal(true)
  })

  async function agree(steps: readonly Step[], remember: (verifier: KeyedVerifier) => TokenVerifier): Promise<void> {
    mock.timers.reset()
    setClock(Date.now())
    keys.answer = keySet(...SIGNERS.map(({ jwk }) => jwk))
    const open = () =>
      createTokenVerifier({ keys: { kind: 'jwks', url: keys.url }, issuer: ISSUER, audience: AUDIENCE })
    const [plain, remembering] = [open(), remember(open())]
    const tokens = [FIRST.token()]
    for (const one of steps) {
      if (one.kind !== 'ask') {
        take(one, tokens)
        continue
      }
      const token = tokens[one.which % tokens.length] ?? ''
      const [expected, found] = [await plain.verify(token), await remembering.verify(token)]
      expect(found).to.deep.equal(expected)
    }
  }

  function take(step: Exclude<Step, { kind: 'ask' }>, tokens: string[]): void {
    if (step.kind === 'elapse') setClock(Date.now() + step.seconds * 1000)
    if (step.kind === 'rotate') keys.answer = keySet(...step.keys.map((key) => SIGNERS[key]?.jwk))
    if (step.kind !== 'issue') return
    const times = { exp: now() + step.lasts, nbf: now() + step.starts }
    tokens.push(SIGNERS[step.by]?.token(claims(times)) ?? '')
  }
})

interface Counting extends KeyedVerifier {
  readonly verified: number
}

async function embedded(): Promise<KeyedVerifier> {
  return createTokenVerifier({
    keys: { kind: 'embedded', keys: fixedKeys([await asEmbedded(FIRST)]) },
    issuer: ISSUER,
    audience: AUDIENCE,
  })
}

async function counting(keyGeneration?: () => number | undefined): Promise<Counting> {
  const verifier = await embedded()
  let verified = 0
  return {
    keyGeneration: keyGeneration ?? verifier.keyGeneration,
    verify: (token) => {
      verified += 1
      return verifier.verify(token)
    },
    get verified() {
      return verified
    },
  }
}

function setClock(milliseconds: number): void {
  mock.timers.reset()
  mock.timers.enable({ apis: ['Date'], now: milliseconds })
}
