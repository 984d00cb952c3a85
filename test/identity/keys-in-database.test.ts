/** The embedded keys in a database: their life, and nothing that the secret didn't seal counts. */
import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { canSign, generateKey, UNNOTED_MS } from '../../src/identity/keys/embedded/embedded-key.ts'
import { KeptKeys, openKeys } from '../../src/identity/keys/embedded/kept-keys.ts'
import { type KeyRing, openKeyRing } from '../../src/identity/keys/embedded/key-ring.ts'
import { createKeySeal } from '../../src/identity/keys/embedded/key-seal.ts'
import { type KeysSecret, type KeysSecrets, readKeysSecret } from '../../src/identity/keys/embedded/keys-secret.ts'
import { openSigningKeys } from '../../src/store/open.ts'
import type { SigningKeys } from '../../src/store/signing-keys.ts'
import { databaseAt } from '../backup/places.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { until } from '../until.ts'

describe('the embedded keys in a database', () => {
  let folder: string
  let file: string
  let secret: KeysSecret
  let opened: KeptKeys[]
  /** Behind the back of the keys. */
  let direct: DatabaseSync

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-keys-'))
    file = join(folder, 'shared.db')
    secret = newSecret()
    opened = []
    await (await open()).begin()
    direct = new DatabaseSync(file, { timeout: 2000 })
  })
  afterEach(async () => {
    direct.close()
    for (const keys of opened) await keys.close()
    await removeFolder(folder)
  })

  /** As another instance does. */
  async function open(current = secret, ...old: readonly KeysSecret[]): Promise<KeptKeys> {
    const keys = new KeptKeys(await openSigningKeys(databaseAt(`sqlite:${file}`)), createKeySeal({ current, old }), {
      name: 'shared.db',
    })
    opened.push(keys)
    return keys
  }

  const kidOf = async (keys: KeptKeys) => (await keys.read()).current.key.kid
  const texts = () => direct.prepare('select number, text from signing_keys order by number').all()

  it('of instances that start at once one makes the first key, and all use it', async () => {
    direct.exec('delete from signing_keys')
    const instances = await Promise.all(Array.from({ length: 5 }, () => open()))
    await Promise.all(instances.map((keys) => keys.begin()))
    const kids = await Promise.all(instances.map(kidOf))
    expect(new Set(kids).size).to.equal(1)
    expect(texts()).to.have.length(1)
  })

  it('of rotations at the same time one makes the key', async () => {
    const instances = await Promise.all(Array.from({ length: 5 }, () => open()))
    const made = await Promise.all(instances.map((keys) => keys.succeed(1)))
    expect(made.filter(Boolean)).to.have.length(1)
    expect(texts()).to.have.length(2)
  })

  it('the newest signs; an older one loses its private half, and verifies until the last token has ended', async () => {
    const keys = await open()
    const first = (await keys.read()).current
    await keys.noteToken(first, 3_600_000)
    await keys.succeed(1)
    const [retired] = await keys.tidy()
    expect(Number(retired?.endsAt) - Date.now()).to.be.within(3_540_000, 3_600_000)
    const other = await (await open()).read()
    expect(other.current.key.kid).to.not.equal(first.key.kid)
    expect(other.retired.map(({ key }) => [key.kid, canSign(key)])).to.deep.equal([[first.key.kid, false]])
    direct.exec(`update signing_keys set tokens_end_at = 0, created_at = created_at - ${UNNOTED_MS}`)
    expect(await keys.tidy()).to.deep.equal([])
    expect(texts()).to.have.length(1)
  })

  it('an older one whose tokens have not ended stays', async () => {
    const keys = await open()
    await keys.succeed(1)
    direct.exec(`update signing_keys set created_at = created_at - ${UNNOTED_MS} + 60000`)
    expect(await keys.tidy()).to.have.length(1)
    expect(texts()).to.have.length(2)
  })

  it('are not in the file in clear, neither halves nor the secret', async () => {
    const keys = await open()
    const { key } = (await keys.read()).current
    const [row] = texts()
    const inFile = async (text: string) => {
      direct.exec('pragma wal_checkpoint(truncate)')
      return (await readFile(file)).includes(text)
    }
    expect(await inFile(String(row?.text)), 'the sealed text is there').to.equal(true)
    expect(await inFile(key.jwk.x)).to.equal(false)
    expect(await inFile(Buffer.from(secret.bytes()).toString('base64url'))).to.equal(false)
    expect((await readFile(file)).includes(secret.bytes())).to.equal(false)
  })

  it('sealed under another secret are refused with a sentence that names the setting', async () => {
    for (const keys of [await open(newSecret()), await open(newSecret(), newSecret())]) {
      expect(await faultOf(keys)).to.equal(
        "KeyError: KEYS_SECRET can't decrypt the signing keys of the database shared.db; " +
          'set KEYS_SECRET or KEYS_SECRET_OLD to the value that encrypted them; if the secret is lost, delete all rows of ' +
          '`signing_keys`: the next start makes a new key, and everybody signs in again',
      )
    }
    expect(await faultOf(await open())).to.equal(undefined)
  })

  it('are not opened in a database that can not be reached, and not without a secret in one of a server', async () => {
    const refusal = async (url: string, secrets?: KeysSecrets) => {
      const settings = { dataDirectory: folder, database: databaseAt(url), secrets }
      return openKeys(settings, () => {}).catch((error: unknown) => String(error))
    }
    const url = 'postgres://nobody:x@127.0.0.1:1/none?sslmode=disable'
    const lost = await refusal(url, { current: secret, old: [] })
    expect(lost).to.match(/can't be used \(.*\); check DATABASE_URL$/)
    expect(await refusal(url)).to.match(
      /KeyError: KEYS_SECRET is not set, .* only kept encrypted in .*: set it .*openssl rand -base64 32/,
    )
  })

  it('that somebody changed or moved are refused as damaged, and nothing replaces them', async () => {
    const [row] = texts()
    const sealed = String(row?.text)
    const parts = sealed.split('.')
    const swapped = (at: number) => {
      const character = parts[at]?.[3]
      return parts.map((part, i) =>
        i === at ? part.slice(0, 3) + (character === 'A' ? 'B' : 'A') + part.slice(4) : part,
      )
    }
    const jwk = JSON.stringify(await generateKey())
    const ofNumber2 = await createKeySeal({ current: secret, old: [] }).seal(2, jwk)
    const set = direct.prepare('update signing_keys set text = ?')
    for (const text of [...[2, 3, 4].map((at) => swapped(at).join('.')), sealed.slice(0, -30), ofNumber2]) {
      set.run(text)
      expect(await faultOf(await open()), text).to.match(/the signing key 1 of the database shared\.db is damaged/)
      expect(texts()).to.have.length(1)
    }
    set.run(sealed)
    expect(await faultOf(await open())).to.equal(undefined)
  })

  it('in clear are damaged, beside a sealed one or alone', async () => {
    const jwk = JSON.stringify(await generateKey())
    direct.prepare('insert into signing_keys values (2, ?, 0, 0)').run(jwk)
    for (const _ of ['beside key 1', 'alone']) {
      expect(await faultOf(await open())).to.match(/the signing key 2 of the database shared\.db is damaged/)
      expect(await (await open()).encryptAgain().catch(String)).to.match(/key 2 .* is damaged/)
      direct.exec('delete from signing_keys where number = 1')
    }
  })

  it('of an attacker who can write the table but lacks the secret are never used', async () => {
    const forged = await createKeySeal({ current: newSecret(), old: [] }).seal(2, JSON.stringify(await generateKey()))
    const ring = await openKeyRing(await open(), () => {})
    const kid = ring.signer().kid
    direct.prepare('insert into signing_keys values (2, ?, 0, 0)').run(forged)
    await sleep(1200)
    expect([ring.signer().kid, kidsOf(ring)]).to.deep.equal([kid, [kid]])
    await ring.close()
  })

  it('move to a new secret while instances with either run, and then the old one opens nothing', async () => {
    const next = newSecret()
    const [old, both] = [await open(), await open(next, secret)]
    await old.succeed(1)
    const kid = await kidOf(old)
    expect(await kidOf(both)).to.equal(kid)
    expect(await faultOf(await open(next))).to.match(/KEYS_SECRET can't decrypt/)
    expect(await both.encryptAgain()).to.equal(2)
    expect(await both.encryptAgain()).to.equal(0)
    expect(await kidOf(await open(next))).to.equal(kid)
    expect(await faultOf(await open(secret))).to.match(/KEYS_SECRET can't decrypt/)
  })

  describe('in a key ring', () => {
    const told: unknown[] = []
    let ring: KeyRing

    beforeEach(async () => {
      told.length = 0
      ring = await openKeyRing(await open(), (error) => told.push(error))
    })
    afterEach(() => ring.close())

    it('change soon after a rotation anywhere, with another generation', async () => {
      const [kid, generation] = [ring.signer().kid, ring.generation()]
      await (await open()).succeed(1)
      await until(() => ring.signer().kid !== kid)
      expect(ring.generation()).to.not.equal(generation)
      expect(kidsOf(ring)).to.have.length(2)
      await (await open()).removeRetired()
      await until(() => kidsOf(ring).length === 1)
    })

    it('stay, and are told once, while a row is damaged', async () => {
      const [row] = texts()
      const kid = ring.signer().kid
      direct.exec("update signing_keys set text = 'x'")
      await until(() => told.length > 0)
      await sleep(1200)
      expect([ring.signer().kid, told.length, String(told[0])]).to.deep.equal([
        kid,
        1,
        'KeyError: the signing key 1 of the database shared.db is damaged; restore its row of signing_keys, ' +
          'or delete all rows to get a new key',
      ])
      direct.prepare('update signing_keys set text = ?').run(String(row?.text))
      await (await open()).succeed(1)
      await until(() => ring.signer().kid !== kid)
    })

    it('that were removed are refused, although the key after them can not be read', async () => {
      const [row] = texts()
      const { kid } = ring.signer()
      direct.exec("insert into signing_keys values (2, 'x', 0, 0)")
      await until(() => told.length > 0)
      await find(ring, kid)
      const generation = ring.generation()
      await openSigningKeys(databaseAt(`sqlite:${file}`)).then(async (stored) => {
        await stored.remove(1)
        await stored.close()
      })
      await until(() => ring.generation() !== generation)
      expect(await find(ring, kid).catch(({ code }) => code)).to.equal('ERR_JWKS_NO_MATCHING_KEY')
      expect(kidsOf(ring)).to.deep.equal([])
      // It counts again when it is back.
      direct.exec('delete from signing_keys')
      direct.prepare('insert into signing_keys values (1, ?, 0, 0)').run(String(row?.text))
      await until(() => kidsOf(ring)[0] === kid)
    })

    it('are found at once by the kid of a key that another instance has just made', async () => {
      const other = await open()
      for (const after of [1, 2, 3]) {
        await other.succeed(after)
        await find(ring, await kidOf(other))
      }
    })

    it('that a lost database may have are not refused: the error is the database', async () => {
      direct.exec('alter table signing_keys rename to away')
      expect(await find(ring, 'unknown').catch(({ name }) => name)).to.equal('StoreUnavailable')
      await find(ring, ring.signer().kid)
      direct.exec('alter table away rename to signing_keys')
      expect(await find(ring, 'unknown').catch(({ code }) => code)).to.equal('ERR_JWKS_NO_MATCHING_KEY')
    })
  })

  it('are read a bounded number of times, however many kids somebody makes up', async () => {
    const stored = await openSigningKeys(databaseAt(`sqlite:${file}`))
    let reads = 0
    const counted: SigningKeys = {
      read: () => {
        reads += 1
        return stored.read()
      },
      begin: (...args) => stored.begin(...args),
      add: (...args) => stored.add(...args),
      replace: (...args) => stored.replace(...args),
      noteToken: (...args) => stored.noteToken(...args),
      remove: (...args) => stored.remove(...args),
      close: () => stored.close(),
    }
    const place = new KeptKeys(counted, createKeySeal({ current: secret, old: [] }), { name: 'shared.db' })
    const ring = await openKeyRing(place, () => {})
    reads = 0
    const began = performance.now()
    let asked = 0
    const attacker = async () => {
      while (performance.now() - began < 1000) {
        await Promise.all(
          Array.from({ length: 20 }, () => find(ring, randomBytes(32).toString('base64url')).catch(() => {})),
        )
        asked += 20
      }
    }
    await Promise.all(Array.from({ length: 10 }, attacker))
    const seconds = (performance.now() - began) / 1000
    expect(asked).to.be.greaterThan(1000)
    // Ten looks for unknown kids and one for changes, each second.
    expect(reads).to.be.at.most(Math.ceil(11 * seconds) + 2)
    // The counter counts.
    expect(reads).to.be.greaterThan(2)
    await ring.close()
  })
})

function newSecret(): KeysSecret {
  return readKeysSecret('KEYS_SECRET', randomBytes(32).toString('base64url'))
}

function kidsOf(ring: KeyRing): readonly unknown[] {
  const { keys } = ring.keySet() as { keys: readonly { kid: string }[] }
  return keys.map(({ kid }) => kid)
}

async function find(ring: KeyRing, kid: string): Promise<unknown> {
  return ring.find({ alg: 'EdDSA', kid }, { payload: '', signature: '' })
}

async function faultOf(keys: KeptKeys): Promise<string | undefined> {
  return keys.read().then(
    () => undefined,
    (error) => String(error),
  )
}
