/** The folder in which earlier versions kept the embedded keys: its keys are taken into the database once, all or none. */
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { calculateJwkThumbprint, type JWK } from 'jose'
import {
  canSign,
  type EmbeddedKey,
  generateKey,
  parseEmbeddedKey,
} from '../../src/identity/keys/embedded/embedded-key.ts'
import { openKeys } from '../../src/identity/keys/embedded/kept-keys.ts'
import { readKeyFolder } from '../../src/identity/keys/embedded/key-folder.ts'
import { type KeysSecrets, readKeysSecret } from '../../src/identity/keys/embedded/keys-secret.ts'
import { KeyError } from '../../src/identity/keys/key-error.ts'
import { issueToken } from '../../src/identity/tokens/issue-token.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { runCommand, startServer } from './processes.ts'
import { DATABASES, type SharedDatabase } from './shared-database.ts'
import { ed25519 } from './signer.ts'

const SECRET = Buffer.from(Array.from({ length: 32 }, (_, i) => i)).toString('base64')
const DAY = 86_400_000
/** Instances with folders of their own share it; a database file has a secret beside it otherwise. */
const SHARED: KeysSecrets = { current: readKeysSecret('KEYS_SECRET', SECRET), old: [] }

for (const [engine, create] of Object.entries(DATABASES))
  describe(`keys of a folder, imported into ${engine}`, () => {
    let data: string
    let database: SharedDatabase
    let secrets: KeysSecrets | undefined

    beforeEach(async () => {
      data = await mkdtemp(join(tmpdir(), 'sallyport-key-'))
      database = await create()
      secrets = engine === 'SQLite' ? undefined : SHARED
    })
    afterEach(async () => {
      await database.remove()
      await removeFolder(data)
    })

    /** The number of imported keys, and those that are then kept. */
    async function open(folder = data) {
      let imported = 0
      const kept = await openKeys({ dataDirectory: folder, database: database.database, secrets }, (count) => {
        imported = count
      })
      try {
        return { imported, keys: await kept.read() }
      } finally {
        await kept.close()
      }
    }

    it('keep their order, their times and the ends of their tokens, and are read once', async () => {
      const made = await writeFolder(data)
      const { imported, keys } = await open()
      expect([imported, keys.current.number, keys.current.key.kid]).to.deep.equal([3, 12, made.kids[2]])
      expect(keys.current.createdAt).to.equal(made.createdAt)
      const [first, second] = keys.retired
      expect([first, second].map((one) => [one?.key.kid, one && canSign(one.key)])).to.deep.equal([
        [made.kids[0], false],
        [made.kids[1], true],
      ])
      expect(first?.endsAt).to.equal(made.endsAt)
      await rm(join(data, 'keys/signing-2.jwk'))
      expect(await open()).to.deep.equal({ imported: 0, keys })
      expect(await readdir(join(data, 'keys'))).to.have.members([
        ...made.kids.slice(0, 2).map((kid) => `${kid}.ends`),
        ...(engine === 'SQLite' ? ['secret'] : []),
        'signing-12.jwk',
        'signing.jwk',
      ])
    })

    it('are all left where they are if one is broken, and all taken when it is fixed', async () => {
      await writeFolder(data)
      const file = join(data, 'keys/signing-2.jwk')
      const text = await readFile(file, 'utf8')
      await writeFile(file, text.slice(0, 40))
      expect(await open().catch(String)).to.match(/signing-2.jwk is not an Ed25519 key/)
      expect(await readdir(join(data, 'keys')), 'no secret was made').to.not.include('secret')
      await writeFile(file, text)
      expect((await open()).imported).to.equal(3)
    })

    it('of several folders, those of one are taken', async () => {
      secrets = SHARED
      const folders = await Promise.all(
        [0, 1, 2, 3].map(async (i) => {
          const folder = join(data, String(i))
          return { folder, kids: (await writeFolder(folder)).kids }
        }),
      )
      const opened = await Promise.all(folders.map(({ folder }) => open(folder)))
      const taken = opened.findIndex(({ imported }) => imported === 3)
      expect(opened.filter(({ imported }) => imported > 0)).to.have.length(1)
      const { keys } = await open(join(data, 'none'))
      const kids = [...keys.retired, keys.current].map(({ key }) => key.kid)
      expect(kids).to.deep.equal(folders[taken]?.kids)
    })

    it('verify the tokens that they have signed, sign new ones, and stand in no log', async () => {
      const { kids, halves, keys: written } = await writeFolder(data)
      const env = { DATABASE_URL: database.url, ...(secrets && { KEYS_SECRET: SECRET }) }
      const server = await startServer(data, env)
      try {
        const { code, stdout } = await runCommand(data, ['signing-keys', 'list', '--format', 'json'], env)
        const listed = JSON.parse(stdout).keys.map(({ kid }: { kid: string }) => kid)
        expect([code, listed]).to.deep.equal([0, kids.toReversed()])
        const answer = await fetch(`${server.url}/.well-known/jwks.json`)
        const { keys } = (await answer.json()) as { readonly keys: readonly { readonly kid: string }[] }
        expect(keys.map(({ kid }) => kid)).to.deep.equal(kids.toReversed())
        expect(server.log()).to.match(/"count":3,.*signing keys of the folder are now in the database/)
        for (const half of halves) expect(`${server.log()}${stdout}`).to.not.contain(half)
        // The last two had their private halves: their tokens count. A token of any other key doesn't.
        const tokens = await Promise.all([...written.slice(1), await generateKey()].map(tokenOf))
        const statuses = tokens.map(async (token) => {
          const headers = { authorization: `Bearer ${token}` }
          return (await fetch(`${server.url}/api/v1/notes`, { headers })).status
        })
        expect(await Promise.all(statuses)).to.deep.equal([200, 200, 401])
      } finally {
        await server.stop()
      }
    })
  })

describe('a folder of keys', () => {
  let data: string
  let file: string

  beforeEach(async () => {
    data = await mkdtemp(join(tmpdir(), 'sallyport-key-'))
    file = join(data, 'keys', 'signing.jwk')
    await mkdir(join(data, 'keys'), { mode: 0o700 })
  })
  afterEach(() => removeFolder(data))

  const own = ed25519().privateKey.export({ format: 'jwk' })
  const write = (content: string | Buffer, mode = 0o600) => writeFile(file, content, { mode })

  it('without a key has none, and neither has a data folder without it', async () => {
    expect(await readKeyFolder(data)).to.deep.equal([])
    expect(await readKeyFolder(join(data, 'other'))).to.deep.equal([])
  })

  for (const mode of [0o640, 0o604, 0o660, 0o602]) {
    it(`with a key that others can reach (${mode.toString(8)}) stops with what to do`, async () => {
      await write(JSON.stringify(own))
      await chmod(file, mode)
      expect(await sentence(data)).to.equal(`others can read ${file}: let only its owner read it`)
      await chmod(file, 0o600)
      expect(await readKeyFolder(data)).to.have.length(1)
    })
  }

  it('where others can put another key stops with what to do', async () => {
    await write(JSON.stringify(own))
    await chmod(join(data, 'keys'), 0o777)
    expect(await sentence(data)).to.match(/^others can replace the files in \S+keys: let only/)
  })

  it('with a link to a file for everybody is refused', async () => {
    const elsewhere = join(data, 'elsewhere')
    await writeFile(elsewhere, JSON.stringify(own), { mode: 0o644 })
    await symlink(elsewhere, file)
    expect(await sentence(data)).to.include(`others can read ${file}`)
  })

  const broken = {
    'an empty file': '',
    'half a file': JSON.stringify(own).slice(0, 40),
    'no object': '7',
    null: 'null',
    'another kind of key': '{"kty":"oct","k":"c2VjcmV0"}',
    'a public key': JSON.stringify(ed25519().jwk),
    'a private half that is not one of the public half': JSON.stringify({ ...own, x: ed25519().jwk.x }),
    'a private half that is too short': JSON.stringify({ ...own, d: 'AAAA' }),
  }
  for (const [name, content] of Object.entries(broken)) {
    it(`whose last key is broken (${name}) stops with what to do, and stays as it is`, async () => {
      await write(content)
      expect(await sentence(data)).to.equal(
        `the signing key ${file} is not an Ed25519 key; restore it, or delete it to start without that key`,
      )
      expect(await readFile(file, 'utf8')).to.equal(content)
    })
  }

  it('with a folder in place of a key stops with what to do', async () => {
    await mkdir(file, { mode: 0o700 })
    expect(await sentence(data)).to.equal(`${file} is no file: move it away`)
  })

  for (const ends of ['{"ends": 1}', '17641\n2026-01-01\n', '1e15\n']) {
    it(`with ${JSON.stringify(ends)} for the ends of tokens stops with what to do`, async () => {
      await write(JSON.stringify(own))
      const list = join(data, 'keys', `${await calculateJwkThumbprint(own as JWK)}.ends`)
      await writeFile(list, ends)
      expect(await sentence(data)).to.match(/\.ends doesn't have the ends of tokens, one number a line: restore it/)
      await writeFile(list, '17641\n')
      expect((await readKeyFolder(data))[0]?.tokensEndAt).to.equal(17641)
    })
  }

  it('is not printed by the error of a broken file', async () => {
    await write(`${JSON.stringify(own)}x`)
    expect(await sentence(data)).not.to.include(own.d)
  })
})

/** Three keys as an earlier version left them: all but the last have a token that lasts, and the first has no private half. */
async function writeFolder(data: string) {
  const folder = join(data, 'keys')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const keys = await Promise.all([1, 2, 3].map(() => generateKey()))
  const kids = await Promise.all(keys.map((key) => calculateJwkThumbprint(key)))
  const endsAt = Date.now() + 30 * DAY
  const createdAt = Date.now() - DAY
  const files = { 'signing.jwk': { ...keys[0], d: undefined }, 'signing-2.jwk': keys[1], 'signing-12.jwk': keys[2] }
  for (const [i, [name, jwk]] of Object.entries(files).entries()) {
    const created = new Date(createdAt - (2 - i) * 60_000).toISOString()
    await writeFile(join(folder, name), JSON.stringify({ ...jwk, created }), { mode: 0o600 })
  }
  for (const kid of kids.slice(0, 2)) {
    await writeFile(join(folder, `${kid}.ends`), `${endsAt - 5}\n${endsAt}\n${endsAt - 9}\n`, { mode: 0o600 })
  }
  return { kids, keys, halves: keys.map(({ d = '' }) => d), endsAt, createdAt }
}

async function tokenOf(jwk: JWK): Promise<string> {
  const key = (await parseEmbeddedKey(JSON.stringify(jwk))) as EmbeddedKey
  const names = { issuer: 'sallyport', audience: 'sallyport' }
  return issueToken(key, { subject: 'zoe', roles: ['member'], lifetimeSeconds: 600, ...names })
}

async function sentence(data: string): Promise<string> {
  try {
    await readKeyFolder(data)
  } catch (error) {
    expect(error).to.be.instanceOf(KeyError)
    return (error as KeyError).message
  }
  throw new Error('the keys were read')
}
