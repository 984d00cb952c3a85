import { sign } from 'node:crypto'
import { expect } from 'chai'
import { jwtVerify } from 'jose'
import type { TokenVerifier } from '../../src/identity/caller.ts'
import { fixedKeys } from '../../src/identity/keys/embedded/key-ring.ts'
import { readCompactToken } from '../../src/identity/tokens/compact-token.ts'
import { createTokenVerifier } from '../../src/identity/tokens/token-verifier.ts'
import { cpuMs } from '../measure.ts'
import { ask } from './outcome.ts'
import { AUDIENCE, asEmbedded, claims, ed25519, encode, ISSUER } from './signer.ts'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

describe('the form of a token', () => {
  const signer = ed25519()
  const token = signer.token()
  const [header = '', payload = '', signature = ''] = token.split('.')
  let verifier: TokenVerifier

  before(async () => {
    const key = await asEmbedded(signer)
    verifier = createTokenVerifier({
      keys: { kind: 'embedded', keys: fixedKeys([key]) },
      issuer: ISSUER,
      audience: AUDIENCE,
    })
  })

  it('of a good token is accepted', async () => {
    expect(await ask(verifier, token)).to.equal('caller alice')
  })

  describe('has one spelling', () => {
    // The negative control is jose alone: what it accepts of these is why the check is there.
    const spellings = {
      'padding after the signature': { token: `${token}==`, jose: true },
      'white space after the token': { token: `${token} `, jose: true },
      'a line break inside the signature': { token: `${header}.${payload}.${insert(signature, '\n')}`, jose: true },
      'a tab inside the signature': { token: `${header}.${payload}.${insert(signature, '\t')}`, jose: true },
      'other trailing bits in the signature': { token: `${header}.${payload}.${strayBits(signature)}`, jose: true },
      'half the padding': { token: `${token}=`, jose: false },
      'white space before the token': { token: ` ${token}`, jose: false },
      'a character outside of the alphabet': { token: `${header}.${payload}.${insert(signature, '!')}`, jose: false },
      'one character left over': { token: `${token}A`, jose: false },
    }
    for (const [name, { token: loose, jose }] of Object.entries(spellings)) {
      it(`${name}: refused here, ${jose ? 'accepted' : 'refused'} by jose alone`, async () => {
        expect(await acceptedByJose(loose)).to.equal(jose)
        expect(await ask(verifier, loose)).to.equal('token-invalid')
      })
    }

    it('the alphabet with + and /: refused', async () => {
      const other = tokenWith((part) => /[-_]/.test(part))
      expect(await ask(verifier, other)).to.equal('caller alice')
      const [h, p, s = ''] = other.split('.')
      expect(await ask(verifier, `${h}.${p}.${s.replaceAll('-', '+').replaceAll('_', '/')}`)).to.equal('token-invalid')
    })

    it('even when the signer signed the loose spelling of header or payload', async () => {
      for (const [h, p] of [
        [`${header} `, payload],
        [header, `${payload}=`],
        [insert(header, '\n'), payload],
        [header, strayBits(encode(`${JSON.stringify(claims())} `.padEnd(100)))],
      ] as const) {
        expect(await ask(verifier, signedAsWritten(h, p))).to.equal('token-invalid')
      }
      expect(await ask(verifier, signedAsWritten(header, payload))).to.equal('caller alice')
    })
  })

  describe('is three segments', () => {
    const shapes = {
      nothing: '',
      'dots alone': '..',
      'one segment': header,
      'two segments': `${header}.${payload}`,
      'an empty header': `.${payload}.${signature}`,
      'an empty payload': signedAsWritten(header, ''),
      'an empty signature': `${header}.${payload}.`,
      'four segments': `${token}.${signature}`,
      'a JWE in compact form': [{ alg: 'dir', enc: 'A256GCM' }, '', 'iv', 'ciphertext', 'tag'].map(encode).join('.'),
      'a JWS in flattened JSON': JSON.stringify({ protected: header, payload, signature }),
      'a JWS in general JSON': JSON.stringify({ payload, signatures: [{ protected: header, signature }] }),
      'the token in quotes': `"${token}"`,
      'the token twice': `${token},${token}`,
    }
    for (const [name, shape] of Object.entries(shapes)) {
      it(`${name} is refused`, async () => {
        expect(await ask(verifier, shape)).to.equal('token-invalid')
      })
    }
  })

  describe('holds two JSON objects that every reader reads alike', () => {
    const good = JSON.stringify(claims())
    const texts = {
      'a list': `[${good}]`,
      'a string': '"alice"',
      null: 'null',
      'a number': '7',
      'white space alone': ' ',
      'half an object': good.slice(0, -1),
      'two objects': `${good}${good}`,
      'a comment': good.replace('{', '{/**/'),
      'a trailing comma': good.replace('}', ',}'),
      'single quotes': good.replaceAll('"', "'"),
      'a byte order mark': `\ufeff${good}`,
      'a name that stands twice': good.replace('{', '{"sub":"ada",'),
      'a name that stands twice in another spelling': good.replace('{', '{"\\u0073ub":"ada",'),
      'a name that stands twice further in': good.replace('{', '{"a":[{"b":1,"b":2}],'),
      'half a character': good.replace('{', '{"note":"\\ud800",'),
      'half a character in a name': good.replace('{', '{"\\ud800":1,'),
      'a hundred lists in each other': good.replace('{', `{"a":${'['.repeat(100)}${']'.repeat(100)},`),
      'as many lists in each other as fit': good.replace('{', `{"a":${'['.repeat(2_800)}${']'.repeat(2_800)},`),
    }
    for (const [name, text] of Object.entries(texts)) {
      it(`${name} as payload is refused, though signed`, async () => {
        expect(await ask(verifier, signer.token(text))).to.equal('token-invalid')
      })
    }

    it('UTF-16 and bytes that are no UTF-8 are refused, though signed', async () => {
      expect(await ask(verifier, signer.token(Buffer.from(good, 'utf16le')))).to.equal('token-invalid')
      const latin1 = Buffer.from(JSON.stringify(claims({ note: 'é' })), 'latin1')
      expect(await ask(verifier, signer.token(latin1))).to.equal('token-invalid')
      expect(readCompactToken(signer.token(latin1)).kind).to.equal('faulty')
    })

    it('a header that names something twice is refused, though signed', async () => {
      const twice = `{"alg":"none","alg":"EdDSA","kid":"${signer.kid}"}`
      expect(await ask(verifier, signer.token(claims(), twice))).to.equal('token-invalid')
      expect(await acceptedByJose(signer.token(claims(), twice))).to.equal(true)
    })

    it('the same name in two objects, lists of equal strings and spaces are fine', async () => {
      const fine = good.replace('{', '{ "a" : [ { "b" : 1 } , { "b" : "b" } ] , "c" : [ "d" , "d" , "sub" ] , ')
      expect(await ask(verifier, signer.token(fine))).to.equal('caller alice')
    })

    it('strings full of brackets, quotes and colons are strings', async () => {
      const note = '"}]{[": \\" {"sub":"ada"}'
      expect(await ask(verifier, signer.token(claims({ note, [note]: note })))).to.equal('caller alice')
    })
  })

  describe('is short', () => {
    it('a token of 8192 characters is read, one more is refused', async () => {
      expect(await ask(verifier, ofLength(8192))).to.equal('caller alice')
      expect(await ask(verifier, ofLength(8193))).to.equal('token-invalid')
    })

    it('a token of 1 MB is refused by 50 ms of work, whatever is in it', async () => {
      await ask(verifier, token)
      for (const unit of ['a', '.', '=', 'a.b', '\0', '😀']) {
        const long = unit.repeat(1_048_576 / unit.length)
        const refuse = async () => expect(await ask(verifier, long)).to.equal('token-invalid')
        expect(await cpuMs(refuse)).to.be.lessThan(50)
      }
    })
  })

  /** Base64url has no segment of 4n + 1 characters, so header and payload both grow. */
  function ofLength(length: number): string {
    for (let extra = 0; extra < 4; extra++) {
      for (let size = 5_800; size < 6_000; size++) {
        const long = signer.token(claims({ note: 'x'.repeat(size) }), { note: 'x'.repeat(extra) })
        if (long.length === length) return long
      }
    }
    throw new Error('no token has this length')
  }

  function tokenWith(fits: (signature: string) => boolean): string {
    for (let note = 0; ; note++) {
      const candidate = signer.token(claims({ note }))
      if (fits(candidate.split('.')[2] ?? '')) return candidate
    }
  }

  function signedAsWritten(h: string, p: string): string {
    return `${h}.${p}.${encode(sign(null, Buffer.from(`${h}.${p}`), signer.privateKey))}`
  }

  async function acceptedByJose(loose: string): Promise<boolean> {
    return jwtVerify(loose, signer.publicKey, { issuer: ISSUER, audience: AUDIENCE, algorithms: ['EdDSA'] }).then(
      () => true,
      () => false,
    )
  }
})

function insert(part: string, character: string): string {
  return `${part.slice(0, 8)}${character}${part.slice(8)}`
}

/** The same bytes with the lowest bit of the last character turned, where that bit is not part of a byte. */
function strayBits(part: string): string {
  const last = ALPHABET.indexOf(part.at(-1) ?? '')
  return part.slice(0, -1) + ALPHABET[last ^ 1]
}
