/** Whoever can write to the database still can't write policy: every changed row is refused, and the reason is told. */
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { CompactSign } from 'jose/jws/compact/sign'
import { readPolicyKeys, readPolicySigner } from '../../src/identity/keys/policy-keys.ts'
import { digestOfText, signVersion, verifyVersion } from '../../src/policy/published/signed-version.ts'
import type { TestServer } from '../server.ts'
import { failure } from '../store/fixture.ts'
import { until } from '../until.ts'
import { PublishedPolicies, sequenceOf } from './fixture.ts'

describe('a changed row of the published policy', () => {
  let published: PublishedPolicies
  let server: TestServer

  beforeEach(async () => {
    published = await PublishedPolicies.make()
    await published.publish()
    await published.publish('# second\n')
    server = await published.start()
  })
  afterEach(() => published.remove())

  const signedAt = async (number: number) => {
    const versions = await published.versions()
    const signed = (await versions.get(number)) ?? ''
    await versions.close()
    return signed
  }

  const second = () =>
    published.within(published.versions(), async (versions) => {
      const keys = await readPolicyKeys(published.publicKey())
      return verifyVersion(2, (await versions.get(2)) ?? '', keys, await versions.home())
    })

  /** Stores a third version, around the commands. */
  const store = (signed: string) => published.tamper(`insert into policy_versions values (3, '${signed}')`)

  /** The codes that the log gives as the reason. */
  const refusals = () =>
    server.log.flatMap(({ faults }) => ((faults ?? []) as readonly { code: string }[]).map(({ code }) => code))

  const isRefused = async (code: string) => {
    await until(() => refusals().includes(code))
    expect(refusals()).to.deep.equal([code])
    expect(await sequenceOf(server)).to.equal(2)
    expect((await server.ask('GET', '/readyz', { token: await server.token('a', 'admin') })).body.status).to.equal(
      'degraded',
    )
    // The next good version is taken all the same.
    published.tamper('delete from policy_versions where number = 3')
    await published.publish('# third\n')
    await published.publish('# fourth\n')
    await until(async () => (await sequenceOf(server)) === 4)
  }

  /** The second version, changed, with the signature of a key. */
  const signedBy = async (key: string, changes: object) => {
    const version = await second()
    return signVersion({ ...version, ...changes }, await readPolicySigner(published.privateKey(key)))
  }

  it('is taken if the publisher has signed it: the checks below can fail', async () => {
    store(await signedBy('one', { number: 3 }))
    await until(async () => (await sequenceOf(server)) === 3)
    expect(refusals()).to.deep.equal([])
  })

  it('is refused if it is an older version under a newer number', async () => {
    store(await signedAt(1))
    await isRefused('version-number')
  })

  it('is refused if its content is changed', async () => {
    const [header = '', payload = '', signature = ''] = (await signedBy('one', { number: 3 })).split('.')
    const changed = JSON.parse(Buffer.from(payload, 'base64url').toString())
    const other = Buffer.from(JSON.stringify({ ...changed, user: 'somebody' })).toString('base64url')
    store([header, other, signature].join('.'))
    await isRefused('version-signature')
  })

  it('is refused if its signature is changed', async () => {
    const signed = await signedBy('one', { number: 3 })
    const at = signed.lastIndexOf('.') + 5
    store(`${signed.slice(0, at)}${signed[at] === 'A' ? 'B' : 'A'}${signed.slice(at + 1)}`)
    await isRefused('version-signature')
  })

  it('is refused if another key has signed it', async () => {
    store(await signedBy('two', { number: 3 }))
    await isRefused('version-key')
  })

  it('is refused if another key has signed it under the name of the right one', async () => {
    const { kid } = await readPolicySigner(published.privateKey('one'))
    const { privateKey } = await readPolicySigner(published.privateKey('two'))
    const version = await second()
    store(await signVersion({ ...version, number: 3 }, { kid, privateKey }))
    await isRefused('version-signature')
  })

  it('is refused if the key has signed something of another kind', async () => {
    const { kid, privateKey } = await readPolicySigner(published.privateKey())
    const payload = Buffer.from((await signedBy('one', { number: 3 })).split('.')[1] ?? '', 'base64url')
    for (const typ of ['JWT', undefined]) {
      const header = { alg: 'EdDSA', kid, ...(typ === undefined ? {} : { typ }) }
      store(await new CompactSign(payload).setProtectedHeader(header).sign(privateKey))
      await until(() => refusals().includes('version-signature'))
      published.tamper('delete from policy_versions where number = 3')
      await until(() => server.app.policy.faults.length === 0)
    }
    expect(await sequenceOf(server)).to.equal(2)
  })

  it('is refused if it is no signed version at all', async () => {
    store('{"number":3}')
    await isRefused('version-signature')
  })

  it('is refused if it says nothing, or names a file that this program does not know', async () => {
    const { kid, privateKey } = await readPolicySigner(published.privateKey())
    const header = { alg: 'EdDSA', kid, typ: 'sallyport-policy' }
    store(await new CompactSign(Buffer.from('[]')).setProtectedHeader(header).sign(privateKey))
    await until(() => refusals().includes('version-unknown'))
    published.tamper('delete from policy_versions where number = 3')
    const version = await second()
    await until(() => server.app.policy.faults.length === 0)
    store(await signedBy('one', { number: 3, files: { ...version.files, 'later.yaml': digestOfText('') } }))
    await until(() => server.app.policy.faults.length > 0)
    expect(await sequenceOf(server)).to.equal(2)
  })

  it('is refused if a file that it names is changed or missing', async () => {
    const text = '# injected\n'
    const signed = await signedBy('one', { number: 3, files: { 'policy.csv': digestOfText(text) } })
    published.tamper(`insert into policy_files values ('${digestOfText(text)}', 'p, everyone, *, any, any, *, allow')`)
    store(signed)
    await isRefused('version-file')
  })

  it('hides no true version that is published with its number in the same moment', async () => {
    const signed = await signedBy('one', { number: 3 })
    store('no signed version')
    await until(() => refusals().includes('version-signature'))
    published.tamper(`update policy_versions set signed = '${signed}' where number = 3`)
    await until(async () => (await sequenceOf(server)) === 3)
    // A version in force is not exchanged under its number.
    published.tamper("update policy_versions set signed = 'no signed version' where number = 3")
    // The next row shows that the instance has looked again.
    published.tamper("insert into policy_versions values (4, 'no signed version')")
    await until(() => refusals().length === 2)
    expect(await sequenceOf(server)).to.equal(3)
  })

  it('is not taken by an instance that has a later version, nor by a restarted one', async () => {
    published.tamper('delete from policy_versions where number = 2')
    await until(() => refusals().includes('version-missing'))
    expect(await sequenceOf(server)).to.equal(2)
    await server.stop()
    const dataDirectory = join(published.root, 'instance')
    await published.publish('# again\n')
    const again = await published.start({ DATA_DIR: dataDirectory })
    await again.app.drain()
    published.tamper('delete from policy_versions where number = 2')
    const error = await failure(published.start({ DATA_DIR: dataDirectory }))
    expect(String(error)).to.contain('version 2 is no longer in the database')
    // After an older database was restored, the operator says so.
    await rm(join(dataDirectory, 'policy-sequence'))
    expect(await sequenceOf(await published.start({ DATA_DIR: dataDirectory }))).to.equal(1)
  })
})

describe('a server with POLICIES=database:', () => {
  let published: PublishedPolicies
  beforeEach(async () => {
    published = await PublishedPolicies.make()
  })
  afterEach(() => published.remove())

  const refusal = async (env: Record<string, string> = {}) => String(await failure(published.start(env)))

  it('does not start without public keys, or with keys that are none', async () => {
    await published.publish()
    expect(await refusal({ POLICY_PUBLIC_KEYS: '' })).to.contain('POLICY_PUBLIC_KEYS is not set')
    expect(await refusal({ POLICY_PUBLIC_KEYS: published.privateKey() })).to.contain('holds a private key')
    expect(await refusal({ POLICY_PUBLIC_KEYS: '/nowhere.pem' })).to.contain('no such file')
    expect(await refusal({ POLICY_PUBLIC_KEYS: ' , ' })).to.contain('names no file')
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const other = join(published.root, 'other.pem')
    await writeFile(other, publicKey.export({ format: 'pem', type: 'spki' }))
    expect(await refusal({ POLICY_PUBLIC_KEYS: other })).to.contain('not a public Ed25519 key')
    expect(await refusal({ POLICY_MAX_AGE: '5 minutes' })).to.contain('POLICY_MAX_AGE is "5 minutes"')
  })

  it('does not start before a version was published, or in a database of its own', async () => {
    expect(await refusal()).to.contain('there is no database')
    await (await published.versions()).close()
    expect(await refusal()).to.contain('version 1 was not published yet')
    expect(await refusal({ DATABASE_URL: 'sqlite::memory:' })).to.match(/there is no database|keeps no policies/)
  })

  it('does not start with a version that is broken, or that it does not trust', async () => {
    await published.publish('x, nothing\n')
    expect(await refusal()).to.contain('rule-kind')
    await published.publish('', 'two')
    expect(await refusal()).to.contain('version-key')
    expect(await sequenceOf(await published.start({ POLICY_PUBLIC_KEYS: published.publicKey('two') }))).to.equal(2)
  })

  it('trusts several keys, in PEM or as JWKs, so that keys can be replaced', async () => {
    await published.publish('', 'one')
    const jwk = join(published.root, 'two.jwk')
    const two = createPublicKey(await readFile(published.publicKey('two')))
    await writeFile(jwk, JSON.stringify(two.export({ format: 'jwk' })))
    const server = await published.start({ POLICY_PUBLIC_KEYS: `${published.publicKey('one')}, ${jwk}` })
    await published.publish('# second\n', 'two')
    await until(async () => (await sequenceOf(server)) === 2)
    await published.publish('# third\n', 'one')
    await until(async () => (await sequenceOf(server)) === 3)
  })
})
