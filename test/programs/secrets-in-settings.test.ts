/** A secret that stands in the wrong setting is printed by no command, and by no server. */
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { cp, mkdtemp, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { readConfig } from '../../src/config/config.ts'
import { OPENID_NAMES } from '../../src/identity/tokens/openid-settings.ts'
import { secretsHiddenOf } from '../../src/present/without-secrets.ts'
import { sallyport, startSallyport } from '../command.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { soak } from '../runs.ts'
import { startTestServer } from '../server.ts'

const NAMES = settingNames()
const OF_PATHS = [
  ...['POLICIES', 'SCHEMAS', 'MIGRATIONS', 'DATA_DIR', 'DATABASE_URL', 'DECISION_LOG_FILE', 'POLICY_CANDIDATE'],
  ...['POLICY_SIGNING_KEY', 'POLICY_PUBLIC_KEYS', 'JWT_PUBLIC_KEY', 'JWT_JWKS_URL', 'KEYS_SECRET', 'REDIS_URL'],
]

const PEM = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' })

const SECRETS = {
  'a URL with a password': 'https://hidden-user:hidden-word@example.invalid/path?token=hidden-token',
  'a private key': String(PEM),
  'a private key in one line': String(PEM).replaceAll('\n', '\\n'),
  'a key in base64': 'q8/vEj+WeJ/rze8S/FZ4k+vN7/I0V+iQ/83vEj/WeJA=',
  'a key in base64url': 'q8-vEj_WeJ-rze8S_FZ4k-vN7_I0V-iQ_83vEj-WeJA',
  'a key in hexadecimal digits': '4f1c2a9be07d35681f4c2a9be07d35684f1c2a9be07d35681f4c2a9be07d3568',
  'an API key': 'sp_Ab3dEfGh_q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQ',
  'a token': 'eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJlLW9mLWEtdG9rZW4',
}
type Kind = keyof typeof SECRETS
const KINDS = Object.keys(SECRETS) as Kind[]

const COMMANDS = [
  ...['policy check', 'policy explain GET /users', 'policy matrix', 'policy diff policies candidate', 'policy history'],
  ...['policy apply candidate --yes', 'policy promote --yes', 'policy rollback --yes', 'policy export new'],
  ...['policy status', 'policy block user:bob', 'policy replay x.log', 'schema check', 'schema diff schemas candidate'],
  ...['matrix test', 'matrix init --force', 'matrix coverage', 'data check', 'data migrate', 'data migrate --status'],
  ...['data migrate --draft', 'data export --as a --role admin', 'data import x.log --as a --role admin'],
  ...['decisions query', 'decisions tail', 'user list', 'key list', 'signing-keys list', 'signing-keys rotate'],
  ...['signing-keys reencrypt', 'token --subject a', 'backup', 'restore x.log new', 'add resource tickets'],
  ...['add service shop', 'ci staged', 'doctor', 'doctor --format json', 'upgrade --check', 'openapi'],
]

describe('a secret in the wrong setting', () => {
  let made: string
  const clean = Object.fromEntries([...NAMES].map((name) => [name, undefined]))

  before(async () => {
    made = await mkdtemp(join(tmpdir(), 'sallyport-secrets-'))
    const project = join(made, 'project')
    expect((await sallyport(['init', project, '--yes'])).code).to.equal(0)
    const [policies, schemas, data] = [join(project, 'policies'), join(project, 'schemas'), join(project, 'data')]
    const server = await startTestServer({ env: { POLICIES: policies, SCHEMAS: schemas, DATA_DIR: data } })
    await server.stop()
    await cp(policies, join(project, 'candidate'), { recursive: true })
    await writeFile(join(project, 'x.log'), '')
  })
  after(() => removeFolder(made))

  /** What a command prints in a fresh project. */
  async function printed(name: string, kind: Kind, command: string, run: typeof sallyport = sallyport) {
    const cwd = join(made, 'here')
    await removeFolder(cwd)
    await cp(join(made, 'project'), cwd, { recursive: true })
    const { stdout, stderr } = await run(command.split(' '), { cwd, env: { ...clean, [name]: SECRETS[kind] } })
    return stdout + stderr
  }

  // In soak each command meets every second setting of a path, and `doctor` each setting, with some kind of secret.
  // Each run tries other pairs.
  const first = fc.sample(fc.nat(KINDS.length - 1), 1)[0] ?? 0
  for (const [index, kind] of KINDS.entries()) {
    it(`is printed by no command: ${kind}`, async () => {
      const pairs = (names: readonly string[], commands: readonly string[], of: number) =>
        names.flatMap((name, i) =>
          commands.filter((_, j) => (first + i + j) % of === index).map((command) => [name, command] as const),
        )
      const tried = [
        ...pairs(OF_PATHS, COMMANDS, soak(16, 48)),
        ...pairs([...NAMES], ['doctor', 'policy check'], soak(8, 48)),
      ]
      for (const [name, command] of tried) {
        const text = await printed(name, kind, command)
        expect(partsIn(text, kind), `${command}, ${name}: ${text}`).to.deep.equal([])
      }
    })
  }

  it('is printed by no server', async () => {
    // Its port is taken, so that each of them ends.
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const command = `serve --port ${(taken.address() as AddressInfo).port}`
    try {
      const names = ['POLICIES', 'SCHEMAS', 'DATA_DIR', 'DECISION_LOG_FILE', 'POLICY_CANDIDATE']
      for (const [i, name] of names.entries()) {
        for (const kind of KINDS.filter((_, j) => (first + i + j) % soak(2, 8) === 0)) {
          const text = await printed(name, kind, command, startSallyport)
          expect(text).to.include('sallyport')
          expect(partsIn(text, kind), `${name}: ${text}`).to.deep.equal([])
        }
      }
    } finally {
      taken.close()
    }
  })

  it('would be found in what is printed', async () => {
    const text = await printed('DATA_DIR', 'a key in base64', 'doctor')
    expect(text).to.include('there is no `…')
    for (const kind of KINDS) expect(partsIn(`it is ${SECRETS[kind]}`, kind)).to.not.deep.equal([])
  })

  it('is hidden also where it is cut, and nothing else is', () => {
    for (const kind of KINDS.filter((one) => one !== 'a URL with a password')) {
      const value = SECRETS[kind]
      const hide = secretsHiddenOf({ POLICIES: value })
      for (const text of [value.slice(0, 64), value.slice(0, value.lastIndexOf('/')), `x/${value}/y`]) {
        expect(partsIn(hide(text), kind), text).to.deep.equal([])
      }
    }
    const ordinary = {
      DATA_DIR: '/dev/shm/sallyport-project-4Zx9aB/data',
      DATABASE_URL: 'postgres://sallyport:hidden-word@db.internal:5432/sallyport?sslmode=verify-full',
      INSTANCE: 'api-7d9f8b6c5d-x2x4z',
      POLICIES: 'releases/2026-11-28/policies',
      PUBLIC_URL: 'https://api.example.com',
    }
    const text = Object.values(ordinary).join(' ')
    expect(secretsHiddenOf(ordinary)(text)).to.equal(text.replace('sallyport:hidden-word@db.internal', '…'))
  })

  it('hides no address of a person, and no word that holds a short value', () => {
    const harmless = { DATABASE_URL: 'postgres://app@db/x', REDIS_URL: 'redis://h/?keyPrefix=s', INSTANCE: 'ann@host' }
    const text = 'app@example.com and ann@example.com say: success'
    expect(secretsHiddenOf(harmless)(text)).to.equal(text)
    expect(secretsHiddenOf({ REDIS_URL: 'redis://h/?keyPrefix=hunter22' })('it is hunter22')).to.equal('it is …')
  })

  it('is looked for in every setting', () => {
    const text = SECRETS['a key in base64']
    const open = [...NAMES].filter((name) => secretsHiddenOf({ [name]: text })(text) !== '…')
    expect(open).to.deep.equal([])
    // The text of no other program's variable is hidden.
    expect(secretsHiddenOf({ PATH: text })(text)).to.equal(text)
  })
})

/** What of the secret can be read. */
function partsIn(text: string, kind: Kind): readonly string[] {
  const value = SECRETS[kind]
  if (kind === 'a URL with a password')
    return ['hidden-user', 'hidden-word', 'hidden-token'].filter((one) => text.includes(one))
  const lines = value.split(/\s|\\n/).filter((line) => line.length > 15 && !line.startsWith('-'))
  const parts = lines.flatMap((line) => [line.slice(0, 12), line.slice(-12), line.slice(12, 24)])
  // How a private key begins, is the same for each of its kind.
  return parts.filter((part) => !part.startsWith('MIGHAgEA') && text.includes(part))
}

function settingNames(): ReadonlySet<string> {
  const read = new Set<string>(OPENID_NAMES)
  readConfig(new Proxy({}, { get: (_, name) => void read.add(String(name)) }))
  return read
}
