import { expect } from 'chai'
import fc from 'fast-check'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import type { EmbeddedKey } from '../../src/identity/keys/embedded/embedded-key.ts'
import { fixedKeys } from '../../src/identity/keys/embedded/key-ring.ts'
import { KeyError } from '../../src/identity/keys/key-error.ts'
import { issueToken } from '../../src/identity/tokens/issue-token.ts'
import { createTokenVerifier } from '../../src/identity/tokens/token-verifier.ts'
import { ANY_CHARACTER } from '../any-character.ts'
import { AUDIENCE, asEmbedded, ed25519, ISSUER } from './signer.ts'

type Request = Parameters<typeof issueToken>[1]

describe('issued tokens', () => {
  let key: EmbeddedKey
  before(async () => {
    key = await asEmbedded(ed25519())
  })

  function issue(changes: Partial<Request> = {}): Promise<string> {
    const request = { subject: 'alice', roles: ['member'], issuer: ISSUER, audience: AUDIENCE, lifetimeSeconds: 60 }
    return issueToken(key, { ...request, ...changes })
  }

  async function refusal(changes: Partial<Request>): Promise<string> {
    try {
      await issue(changes)
    } catch (error) {
      expect(error).to.be.instanceOf(KeyError)
      return (error as KeyError).message
    }
    throw new Error('a token was issued')
  }

  it('say who, from whom, for whom, and until when', async () => {
    const token = await issue({ claims: { department: 'billing' } })
    expect(decodeProtectedHeader(token)).to.deep.equal({ alg: 'EdDSA', typ: 'at+jwt', kid: key.kid })
    const { iat = 0, exp, jti, ...rest } = decodeJwt(token)
    expect(rest).to.deep.equal({
      iss: ISSUER,
      aud: AUDIENCE,
      sub: 'alice',
      roles: ['member'],
      department: 'billing',
    })
    expect(exp).to.equal(iat + 60)
    expect(jti).to.match(/^[0-9a-f-]{36}$/)
    expect(decodeJwt(await issue()).jti).not.to.equal(jti)
  })

  it('say when the caller signed in, in whole seconds that have passed', async () => {
    expect(decodeJwt(await issue({ authTime: 1_700_000_000_999 })).auth_time).to.equal(1_700_000_000)
    expect(decodeJwt(await issue())).to.not.have.property('auth_time')
  })

  it('verify, and tell the verifier what they were issued for', async () => {
    const verifier = createTokenVerifier({
      keys: { kind: 'embedded', keys: fixedKeys([key]) },
      issuer: ISSUER,
      audience: AUDIENCE,
    })
    const authentication = await verifier.verify(await issue({ claims: { department: 'billing' } }))
    if (authentication.kind !== 'caller') throw new Error(JSON.stringify(authentication))
    const { id, roles, claims } = authentication.caller
    expect({ id, roles, claims: { ...claims } }).to.deep.equal({
      id: 'alice',
      roles: ['member'],
      claims: { department: 'billing' },
    })
  })

  it('either verify with the same subject and roles, or are not issued', async () => {
    const verifier = createTokenVerifier({
      keys: { kind: 'embedded', keys: fixedKeys([key]) },
      issuer: ISSUER,
      audience: AUDIENCE,
    })
    const text = fc.oneof(
      fc.string({ unit: ANY_CHARACTER, maxLength: 140 }),
      fc.string({ unit: fc.constantFrom('user:', 'x', '\ud800', '\0') }),
    )
    await fc.assert(
      fc.asyncProperty(text, fc.array(text, { maxLength: 3 }), async (subject, roles) => {
        const token = await issue({ subject, roles }).catch((error: unknown) => {
          if (!(error instanceof KeyError)) throw error
        })
        if (token === undefined) return
        const authentication = await verifier.verify(token)
        if (authentication.kind !== 'caller') throw new Error(JSON.stringify(authentication))
        expect(authentication.caller).to.deep.include({ id: subject, roles })
      }),
      { numRuns: 300 },
    )
  })

  const subjects = {
    'is empty': '',
    'has 129 characters': 'x'.repeat(129),
    'starts with user:': 'user:alice',
    'has a line break': 'alice\nadmin',
    'has a null': 'alice\0',
    'has a C1 control character': 'alice\u0085',
    'has half a character': 'alice\ud83d',
  }
  for (const [name, subject] of Object.entries(subjects)) {
    it(`are refused for a subject that ${name}`, async () => {
      expect(await refusal({ subject })).to.equal(
        'the subject is not valid; use 1 to 128 characters, no control or broken characters, and no `user:` at the start',
      )
    })
  }

  it('are issued for a subject of 128 characters, counted as people count', async () => {
    for (const subject of ['x'.repeat(128), '😀'.repeat(128)])
      expect(decodeJwt(await issue({ subject })).sub).to.equal(subject)
    expect(await refusal({ subject: '😀'.repeat(129) })).to.include('128 characters')
  })

  it('are refused for a role that could be taken for a user, or is none', async () => {
    expect(await refusal({ roles: ['member', 'user:ada'] })).to.equal(
      '"user:ada" can\'t be a role; write a name that is not empty and does not start with `user:`',
    )
    expect(await refusal({ roles: [''] })).to.include("can't be a role")
  })

  it('are refused for a lifetime that is no whole number of seconds', async () => {
    for (const lifetimeSeconds of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(await refusal({ lifetimeSeconds })).to.include('give a whole number of at least 1')
    }
  })

  it('do not take a claim that has a meaning from the attributes', async () => {
    for (const name of ['iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'jti', 'roles']) {
      expect(await refusal({ claims: { [name]: 'x' } })).to.equal(
        `\`${name}\` can't be an attribute, because tokens use this claim; rename it`,
      )
    }
  })

  it('are refused when they would be longer than the verifier reads', async () => {
    expect(await refusal({ claims: { note: 'x'.repeat(8_000) } })).to.include('longer than 8192 characters')
  })
})
