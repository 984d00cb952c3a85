import { expect } from 'chai'
import type { TokenVerifier } from '../../src/identity/caller.ts'
import { readCredentials } from '../../src/identity/caller.ts'
import { verifyCredentials } from '../../src/server/stages/authenticate.ts'
import { cpuMs } from '../measure.ts'

describe('credentials of a request', () => {
  it('without an Authorization header there are none', () => {
    expect(readCredentials(['Host', 'localhost', 'X-Authorization', 'Bearer abc'])).to.deep.equal({ kind: 'none' })
    expect(readCredentials(['Proxy-Authorization', 'Bearer abc', 'Cookie', 'token=abc'])).to.deep.equal({
      kind: 'none',
    })
  })

  it('a header whose value is called Authorization is not an Authorization header', () => {
    expect(readCredentials(['X-Header', 'Authorization'])).to.deep.equal({ kind: 'none' })
  })

  for (const value of ['Bearer abc.d-_e', 'bearer abc.d-_e', 'BEARER abc.d-_e', 'Bearer   abc.d-_e']) {
    it(`\`${value}\` is a bearer token`, () => {
      expect(readCredentials(['aUTHORIZATION', value])).to.deep.equal({ kind: 'bearer', token: 'abc.d-_e' })
    })
  }

  it('the characters of a token68 are kept as they are (RFC 9110 section 11.2)', () => {
    expect(readCredentials(['Authorization', 'Bearer aZ09-._~+/=='])).to.deep.equal({
      kind: 'bearer',
      token: 'aZ09-._~+/==',
    })
  })

  const refused = {
    'an empty value': '',
    'another scheme': 'Basic YWxpY2U6cGFzc3dvcmQ=',
    'a token without a scheme': 'abc.def.ghi',
    'a scheme without a token': 'Bearer',
    'a scheme and a space': 'Bearer ',
    'no space after the scheme': 'Bearerabc',
    'a tab after the scheme': 'Bearer\tabc',
    'two tokens joined by a comma': 'Bearer abc, Bearer def',
    'two tokens': 'Bearer abc def',
    'padding inside the token': 'Bearer ab=c',
    'only padding': 'Bearer ==',
    'a quoted token': 'Bearer "abc"',
    parameters: 'Bearer token=abc, realm=x',
    'a line break': 'Bearer abc\n',
    'a null': 'Bearer abc\0',
    'letters beyond ASCII': 'Bearer äbc',
    // In some languages upper-casing makes an ASCII letter of it.
    'a scheme that only looks like Bearer': 'ſBearer abc',
  }
  for (const [name, value] of Object.entries(refused)) {
    it(`${name} is refused, not taken for no credentials`, () => {
      expect(readCredentials(['Authorization', value]).kind).to.equal('rejected')
    })
  }

  it('two Authorization headers are refused, even equal ones, in any case', () => {
    const twice = ['Authorization', 'Bearer abc', 'authorization', 'Bearer abc']
    expect(readCredentials(twice)).to.deep.equal({ kind: 'rejected', reason: 'several Authorization headers' })
    expect(readCredentials(twice.slice(0, 2)).kind).to.equal('bearer')
    expect(readCredentials(['Authorization', '', 'Authorization', 'Bearer abc']).kind).to.equal('rejected')
  })

  it('a refusal never repeats what was sent', () => {
    const credentials = readCredentials(['Authorization', 'Basic c2VjcmV0'])
    expect(JSON.stringify(credentials)).not.to.include('c2VjcmV0')
  })

  it('a long header is read in one pass', async () => {
    const took = await cpuMs(() => {
      for (const token of ['='.repeat(1_000_000), ' '.repeat(1_000_000), 'a='.repeat(500_000)]) {
        expect(readCredentials(['Authorization', `Bearer ${token}`]).kind).to.equal('rejected')
      }
    })
    expect(took).to.be.lessThan(1_000)
  })
})

describe('authentication', () => {
  const asked: string[] = []
  const verifier: TokenVerifier = {
    async verify(token) {
      asked.push(token)
      return { kind: 'caller', caller: { id: 'alice', roles: [], claims: {} } }
    },
  }

  it('only a bearer token is verified', async () => {
    expect(await verifyCredentials(verifier, readCredentials([]))).to.deep.equal({ kind: 'anonymous' })
    expect(await verifyCredentials(verifier, readCredentials(['Authorization', 'Basic abc']))).to.include({
      kind: 'rejected',
      code: 'token-invalid',
    })
    expect(asked).to.deep.equal([])
    expect((await verifyCredentials(verifier, readCredentials(['Authorization', 'Bearer abc']))).kind).to.equal(
      'caller',
    )
    expect(asked).to.deep.equal(['abc'])
  })
})
