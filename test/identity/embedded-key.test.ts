import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { calculateJwkThumbprint, exportJWK } from 'jose'
import { openEmbeddedKey } from '../../src/identity/keys/embedded/key-folder.ts'
import { KeyError } from '../../src/identity/keys/key-error.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { ed25519 } from './signer.ts'

const run = promisify(execFile)
const OPEN_KEY = new URL('open-key.ts', import.meta.url).pathname

describe('embedded key', () => {
  let data: string
  let file: string

  beforeEach(async () => {
    data = await mkdtemp(join(tmpdir(), 'sallyport-key-'))
    file = join(data, 'keys', 'signing.jwk')
  })
  afterEach(() => removeFolder(data))

  it('is made on first use, for its owner alone, in a folder for its owner alone', async () => {
    await openEmbeddedKey(data)
    expect(await modeOf(file)).to.equal(0o600)
    expect(await modeOf(join(data, 'keys'))).to.equal(0o700)
    expect(await readdir(join(data, 'keys'))).to.deep.equal(['signing.jwk'])
  })

  it('is the same on the next start', async () => {
    const first = await openEmbeddedKey(data)
    expect((await openEmbeddedKey(data)).kid).to.equal(first.kid)
  })

  it('is another one in another folder', async () => {
    const first = await openEmbeddedKey(data)
    expect((await openEmbeddedKey(join(data, 'other'))).kid).not.to.equal(first.kid)
  })

  it('has the RFC 7638 thumbprint of its public half as kid', async () => {
    const { kid, publicKey } = await openEmbeddedKey(data)
    expect(kid).to.equal(await calculateJwkThumbprint(await exportJWK(publicKey)))
  })

  it('cannot be taken out of the process through the private key object', async () => {
    const { privateKey } = await openEmbeddedKey(data)
    expect(privateKey.extractable).to.equal(false)
  })

  it('is one key for twelve callers that start at once', async () => {
    const keys = await Promise.all(Array.from({ length: 12 }, () => openEmbeddedKey(data)))
    expect(new Set(keys.map(({ kid }) => kid)).size).to.equal(1)
    expect(await readdir(join(data, 'keys'))).to.deep.equal(['signing.jwk'])
  })

  it('is one key for two processes that start at once', async () => {
    const startAtMs = String(Date.now() + 1_000)
    const processes = [1, 2].map(() => run(process.execPath, [OPEN_KEY, data, startAtMs]))
    const [first, second] = (await Promise.all(processes)).map(({ stdout }) => stdout)
    expect(first).to.have.length(43)
    expect(second).to.equal(first)
    expect(first).to.equal((await openEmbeddedKey(data)).kid)
  })

  for (const mode of [0o640, 0o604, 0o660, 0o602]) {
    it(`that others can reach (${mode.toString(8)}) stops with what to do`, async () => {
      await openEmbeddedKey(data)
      await chmod(file, mode)
      expect(await sentence(data)).to.equal(
        `others can read the signing key ${file}; close it, or delete it to get a new one`,
      )
      await chmod(file, 0o600)
      expect((await openEmbeddedKey(data)).kid).to.have.length(43)
    })
  }

  it('in a folder where others can put another one stops with what to do', async () => {
    await openEmbeddedKey(data)
    await chmod(join(data, 'keys'), 0o777)
    expect(await sentence(data)).to.equal(`others can replace the signing key in ${join(data, 'keys')}`)
  })

  it('behind a link that points to a file for everybody is refused', async () => {
    await openEmbeddedKey(data)
    const elsewhere = join(data, 'elsewhere')
    await writeFile(elsewhere, await readFile(file), { mode: 0o644 })
    await rm(file)
    await symlink(elsewhere, file)
    expect(await sentence(data)).to.include('others can read the signing key')
  })

  const { privateKey, jwk } = ed25519()
  const own = privateKey.export({ format: 'jwk' })
  const broken = {
    'an empty file': '',
    'half a file': JSON.stringify(own).slice(0, 40),
    'no object': '7',
    null: 'null',
    'another kind of key': '{"kty":"oct","k":"c2VjcmV0"}',
    'a public key': JSON.stringify(jwk),
    'a private half that is not one of the public half': JSON.stringify({ ...own, x: jwkOfAnother() }),
    'a private half that is too short': JSON.stringify({ ...own, d: 'AAAA' }),
  }
  for (const [name, content] of Object.entries(broken)) {
    it(`that is broken (${name}) stops with what to do, and stays as it is`, async () => {
      await mkdir(join(data, 'keys'), { mode: 0o700 })
      await writeFile(file, content, { mode: 0o600 })
      expect(await sentence(data)).to.equal(
        `the signing key ${file} is not an Ed25519 key; restore it, or delete it to get a new one`,
      )
      expect(await readFile(file, 'utf8')).to.equal(content)
    })
  }

  it('that is a folder stops with what to do', async () => {
    await mkdir(file, { recursive: true, mode: 0o700 })
    expect(await sentence(data)).to.include('is not an Ed25519 key')
  })

  it('is not printed by the error of a broken file', async () => {
    await mkdir(join(data, 'keys'), { mode: 0o700 })
    await writeFile(file, `${JSON.stringify(own)}x`, { mode: 0o600 })
    expect(await sentence(data)).not.to.include(own.d)
  })
})

async function sentence(data: string): Promise<string> {
  try {
    await openEmbeddedKey(data)
  } catch (error) {
    expect(error).to.be.instanceOf(KeyError)
    return (error as KeyError).message
  }
  throw new Error('the key was opened')
}

async function modeOf(file: string): Promise<number> {
  return (await stat(file)).mode & 0o777
}

function jwkOfAnother(): unknown {
  return ed25519().jwk.x
}
