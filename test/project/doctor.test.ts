/** `sallyport doctor`: each fault of an installation is found, none hides another, and a server says the same. */
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash, generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { pino } from 'pino'
import { withDatabase } from '../../bench/fixture/environment.ts'
import type { Checked } from '../../src/base/problems/checked.ts'
import { policyPlace } from '../../src/cli/policy/policy-place.ts'
import { type Flags, readConfig } from '../../src/config/config.ts'
import { fixOf } from '../../src/config/fix-of.ts'
import { type App, startApp } from '../../src/server/app.ts'
import { type Diagnosis, examineInstallation } from '../../src/tools/project/doctor/doctor.ts'
import { sallyport } from '../command.ts'
import { removeNow, removeWithTests } from '../ends-with-tests.ts'
import { AS_NOBODY, NOBODY } from '../nobody.ts'
import { startPgBouncer } from '../pgbouncer.ts'
import { type PostgresServer, sharedPostgres } from '../postgres.ts'
import { program } from '../programs.ts'
import { PublishedPolicies } from '../published/fixture.ts'
import { fakeClock, freePort, type RedisServer, startRedis } from '../redis.ts'
import { formerKeys } from './former-keys.ts'
import { ranIn } from './projects.ts'

const ROOT = new URL('../..', import.meta.url).pathname

/** A user without rights; the tests themselves run as root. */

type Environment = Readonly<Record<string, string>>

interface Found {
  readonly check: string
  readonly says: RegExp
  readonly state?: Checked['state']
  readonly fix?: RegExp
  readonly env?: Environment
  readonly flags?: Flags
  /** A server with these settings refuses to start, with the same words. */
  readonly stops?: boolean
}

describe('sallyport doctor', () => {
  let postgres: PostgresServer
  let redis: RedisServer
  let folder: string
  let own: string
  const closing: (() => unknown)[] = []

  before(async () => {
    ;[postgres, redis] = await Promise.all([sharedPostgres(), startRedis()])
    own = newFolder()
    await (await start(given({}, own))).drain()
  })
  beforeEach(() => {
    folder = newFolder()
  })
  afterEach(async () => {
    for (const close of closing.splice(0)) await close()
  })
  after(() => redis.stop())

  it('finds nothing wrong before a first start, and after it', async () => {
    const names = new Set<string>()
    for (const data of [folder, own]) {
      const { checks } = await examine({}, {}, data)
      expect(faultsOf(checks)).to.deep.equal([])
      for (const { check } of checks) names.add(check)
    }
    expect([...names]).to.include.members([...EACH])
  })

  for (const [name, prepare] of Object.entries(breaks())) {
    it(`finds ${name}, and goes on`, async () => {
      const { check, says, state = 'fault', fix, env = {}, flags = {}, stops } = await prepare()
      const { checks } = await examine(env, flags)
      const told = checks.find((one) => one.check === check && one.state === state && says.test(one.message))
      expect(told, JSON.stringify(checks, null, 1)).to.not.equal(undefined)
      if (fix) expect(told?.fix).to.match(fix)
      expect([...new Set(checks.map((one) => one.check))]).to.include.members(EACH.filter((one) => one !== 'schemas'))
      expect(JSON.stringify(checks)).to.not.include('sesame')
      if (!stops) return
      const failure = await start(given(env), flags).catch((error: Error) => error)
      expect(failure).to.be.instanceOf(Error)
      expect([(failure as Error).message, fixOf(failure)]).to.deep.equal([told?.message, told?.fix])
    })
  }

  it('says of Redis what fixes it, which does', async () => {
    const env = { REDIS_URL: redis.url }
    const cli = ['-p', `${redis.port}`, 'config', 'set', 'maxmemory-policy', 'allkeys-lru']
    execFileSync(join(dirname(program('redis-server')), 'redis-cli'), cli, { stdio: 'pipe' })
    const [told] = (await examine(env)).checks.filter(({ check, state }) => check === 'redis' && state === 'warning')
    expect(told?.message).to.match(/allkeys-lru/)
    const { status } = spawnSync('bash', ['-c', told?.fix ?? 'false'], { env: { PATH: pathOf() } })
    expect(status, told?.fix).to.equal(0)
    expect(warningsOf((await examine(env)).checks, 'redis')).to.deep.equal([])
  })

  it('changes nothing beside a server that writes, needs none of its locks, and is in nobody’s way', async () => {
    cpSync(own, folder, { recursive: true })
    const taken = { PORT: `${await freePort()}`, ADMIN_PORT: `${await freePort()}` }
    const app = await start(given(taken))
    closing.push(() => app.drain())
    await app.seeding.writeMark('before', 'x')
    const before = contents(folder)
    const writer = new DatabaseSync(join(folder, 'data/sallyport.db'))
    writer.exec("begin immediate; insert into marks (name, value) values ('held', 'x')")
    const { checks } = await examine(taken)
    expect(faultsOf(checks)).to.deep.equal([])
    expect(
      checks
        .filter(({ check }) => check === 'ports')
        .map(({ message }) => message)
        .join('\n'),
    ).to.match(/^PORT .* a Sallyport server answers.*\nADMIN_PORT .* a Sallyport server answers/)
    writer.exec('rollback')
    writer.close()
    expect(contents(folder)).to.deep.equal(before)
    await app.seeding.writeMark('after', 'x')
    // The negative control: what a server writes is seen.
    expect(contents(folder)).to.not.deep.equal(before)
  })

  it('is a command: a line for each check, JSON of its shape, and the exit codes', async () => {
    cpSync(own, folder, { recursive: true })
    for (const name of ['policies', 'schemas']) cpSync(join(ROOT, name), join(folder, name), { recursive: true })
    const env = { PORT: '0', ADMIN_PORT: '0' }
    const doctor = (...args: readonly string[]) => sallyport(['doctor', ...args], { cwd: folder, env })
    const sound = await doctor()
    expect([sound.code, sound.stderr], sound.stdout).to.deep.equal([0, ''])
    expect(sound.stdout)
      .to.match(/^ok +node +Node /)
      .and.to.match(/\n\n0 faults, \d warnings?\n$/)
    const faulty = await doctor('--port', 'eighty', '--format', 'json')
    expect(faulty.code).to.equal(1)
    const schema = JSON.parse(readFileSync(join(ROOT, 'docs/schemas/doctor.schema.json'), 'utf8'))
    const validate = new Ajv2020().compile(schema)
    const diagnosis: Diagnosis = JSON.parse(faulty.stdout)
    expect(validate(diagnosis), JSON.stringify(validate.errors)).to.equal(true)
    const [fault] = faultsOf(diagnosis.checks)
    expect(fault?.fix).to.match(/^PORT=3000 .* serve$/)
    expect(fault, 'the former name, for one release').to.have.property('mend', fault?.fix)
    expect((await doctor('--colour')).code).to.equal(2)
  })

  it('finds what the program lacks of its own files, and a command that needs it says so in one sentence', async () => {
    for (const name of ['bin', 'docs', 'package.json', 'policies', 'schemas', 'src', 'templates', 'dist/compiled']) {
      cpSync(join(ROOT, name), join(folder, name), { recursive: true })
    }
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
    const env = { ...process.env, DATA_DIR: join(folder, 'data') }
    const run = (...args: readonly string[]) => ranIn(folder, env, [process.execPath, 'bin/sallyport.js', ...args])
    const program = async () => {
      const { checks }: Diagnosis = JSON.parse((await run('doctor', '--format', 'json')).stdout)
      return checks.find(({ check }) => check === 'program')
    }
    expect((await program())?.state).to.equal('ok')
    removeNow(join(folder, 'templates/project'))
    rmSync(join(folder, 'src/tools/backup/verify.ts'))
    const told = await program()
    expect(told?.message).to.match(/lacks templates\/project\/package\.json, src\/tools\/backup\/verify\.ts$/)
    const sentence = /^sallyport: this installation lacks the file \S+\.ts; install it again: run `[^`\n]+`\n$/
    const later = await run('backup', 'verify', 'none.tar')
    expect([later.code, later.stderr.replace(sentence, '')]).to.deep.equal([2, ''])
    rmSync(join(folder, 'src/cli/program.ts'))
    const atOnce = await run('--help')
    expect([atOnce.code, atOnce.stderr.replace(sentence, '')]).to.deep.equal([2, ''])
  })

  for (const [name, { close, fix }] of Object.entries(closed())) {
    it(`finds ${name}, and its command fixes it`, async () => {
      cpSync(own, folder, { recursive: true })
      for (const one of ['policies', 'schemas']) cpSync(join(ROOT, one), join(folder, one), { recursive: true })
      chmodSync(folder, 0o755)
      execFileSync('chown', ['-R', `${NOBODY}:${NOBODY}`, folder])
      close(join(folder, 'data'))
      const env = { ...process.env, PORT: '0', ADMIN_PORT: '0', HOME: folder }
      const command = [process.execPath, join(ROOT, 'bin/sallyport.js'), 'doctor', '--format', 'json']
      const found = async () => {
        const { stdout } = await ranIn(folder, env, [...AS_NOBODY, ...command])
        return (JSON.parse(stdout) as Diagnosis).checks.filter(({ check }) => check === 'database')
      }
      const [told, ...others] = await found()
      expect([told?.state, told?.message, others]).to.deep.equal(['fault', told?.message, []])
      expect(told?.message).to.match(/can't be opened \(EACCES/)
      expect(told?.fix).to.match(fix)
      execFileSync('bash', ['-c', (told?.fix ?? 'false').replace(/^sudo /, '')], { cwd: folder })
      expect(faultsOf(await found())).to.deep.equal([])
    })
  }

  function closed(): Readonly<Record<string, { close: (data: string) => void; fix: RegExp }>> {
    return {
      'a database that its user may not write': {
        close: (data) => chmodSync(join(data, 'sallyport.db'), 0o400),
        fix: /^chmod -R u\+rwX data\/sallyport\.db$/,
      },
      'a database that its user may not read': {
        close: (data) => chownSync(join(data, 'sallyport.db'), 0, 0),
        fix: /^sudo chown -R \d+:\d+ data\/sallyport\.db$/,
      },
      'a database in a folder that is closed': {
        close: (data) => execFileSync('chown', ['root:root', data]),
        fix: /^sudo chown -R \d+:\d+ data$/,
      },
      'a folder in which its user may not make a database': {
        close: (data) => {
          rmSync(join(data, 'sallyport.db'))
          chmodSync(data, 0o500)
        },
        fix: /^chmod -R u\+rwX \S*data$/,
      },
    }
  }

  function breaks(): Readonly<Record<string, () => Found | Promise<Found>>> {
    return {
      'a wrong setting': () => ({
        check: 'settings',
        says: /LOG_LEVEL is "loud"/,
        env: { LOG_LEVEL: 'loud' },
        fix: /^LOG_LEVEL=info /,
        stops: true,
      }),
      'a slip in the name of a setting': () => {
        return {
          check: 'settings',
          state: 'warning',
          says: /`REDIS_URL`/,
          env: { REDIS_URI: 'redis://h' },
          fix: /^env -u REDIS_URI /,
        }
      },
      'a data folder that is a file': () => {
        writeFileSync(join(folder, 'data'), '')
        return { check: 'data folder', says: /file already exists/, fix: /^mv /, stops: true }
      },
      'a data folder that others can read': () => {
        mkdirSync(join(folder, 'data'))
        chmodSync(join(folder, 'data'), 0o755)
        return { check: 'data folder', state: 'warning', says: /others can look/, fix: /^chmod 700 / }
      },
      'a disk that is nearly full': () => {
        mkdirSync(join(folder, 'data'))
        execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', join(folder, 'data')])
        const mounted = join(folder, 'data')
        closing.push(() => execFileSync('umount', [mounted]))
        return { check: 'disk', says: /1 MiB are free|2 MiB are free/, fix: /^df -h / }
      },
      'a decision log that is none': () => {
        writeFileSync(join(folder, 'mine.txt'), 'mine')
        const env = { DECISION_LOG_FILE: join(folder, 'mine.txt') }
        return { check: 'decision log', says: /not a decision log/, env, stops: true }
      },
      'a missing policy': () => {
        return { check: 'folders', says: /POLICIES is /, env: { POLICIES: join(folder, 'none') }, stops: true }
      },
      'a policy with an error': () => {
        const POLICIES = join(folder, 'policies')
        cpSync(join(ROOT, 'policies'), POLICIES, { recursive: true })
        writeFileSync(join(POLICIES, 'roles.yaml'), 'member: {}\n')
        return {
          check: 'policy',
          says: /[1-9]\d* errors?, .*; first /,
          env: { POLICIES },
          fix: /^sallyport policy check /,
        }
      },
      'a policy that everybody may change': () => {
        const POLICIES = join(folder, 'policies')
        cpSync(join(ROOT, 'policies'), POLICIES, { recursive: true })
        chmodSync(join(POLICIES, 'policy.csv'), 0o666)
        return {
          check: 'folders',
          state: 'warning',
          says: /can change files/,
          env: { POLICIES },
          fix: /^chmod -R o-w /,
        }
      },
      'a faulty schema': () => {
        const SCHEMAS = join(folder, 'schemas')
        cpSync(join(ROOT, 'schemas'), SCHEMAS, { recursive: true })
        writeFileSync(join(SCHEMAS, 'broken.json'), '{')
        return { check: 'schemas', says: /broken\.json:1:/, env: { SCHEMAS }, fix: /^sallyport schema check / }
      },
      'a file that is no database': () => {
        mkdirSync(join(folder, 'data'), { mode: 0o700 })
        writeFileSync(join(folder, 'data/sallyport.db'), 'no database\n'.repeat(500))
        return { check: 'database', says: /not a database/, fix: /^sallyport restore .*\.damaged && mv /, stops: true }
      },
      'a damaged page': () => {
        cpSync(own, folder, { recursive: true })
        const file = join(folder, 'data/sallyport.db')
        const bytes = readFileSync(file)
        bytes.fill(0xff, bytes.length - 3 * 4096)
        writeFileSync(file, bytes)
        return { check: 'database', says: /is damaged|malformed/, fix: /^sallyport restore .*\.damaged && mv / }
      },
      'a database of a later version': () => {
        cpSync(own, folder, { recursive: true })
        const database = new DatabaseSync(join(folder, 'data/sallyport.db'))
        database.exec('pragma user_version = 99')
        database.close()
        return { check: 'database', says: /layout 99/, fix: /^npm install/, stops: true }
      },
      'a signing key that others can read': () => {
        cpSync(own, folder, { recursive: true })
        chmodSync(formerKeys(join(folder, 'data')), 0o644)
        return { check: 'keys', says: /others can read/, fix: /^chmod 600 /, stops: true }
      },
      'an old signing key': () => {
        cpSync(own, folder, { recursive: true })
        const database = new DatabaseSync(join(folder, 'data/sallyport.db'))
        database.exec('update signing_keys set created_at = 1577836800000')
        database.close()
        return { check: 'keys', state: 'warning', says: /\d{4} days old/, fix: /signing-keys rotate$/ }
      },
      'a key server that does not answer': async () => {
        const env = { JWT_JWKS_URL: `http://127.0.0.1:${await freePort()}/keys` }
        return { check: 'keys', says: /gives no keys/, env, fix: /^curl / }
      },
      'a key server whose URL has a password': () => {
        const env = { JWT_JWKS_URL: 'https://u:sesame@127.0.0.1/keys' }
        return { check: 'settings', says: /^JWT_JWKS_URL has a user name or password/, env, stops: true }
      },
      'a key in place of the name of its file': () => {
        const env = { POLICY_SIGNING_KEY: '-----BEGIN PRIVATE KEY-----sesame' }
        return {
          check: 'keys',
          says: /^POLICY_SIGNING_KEY: the file that it names can't be read \(no such file or directory\)/,
          env,
        }
      },
      'policies in another database than the named one': async () => {
        const published = await PublishedPolicies.make()
        closing.push(() => published.remove())
        await published.publish()
        const env = published.environment({ POLICY_DATABASE: 'another' })
        return {
          check: 'policy',
          says: /^POLICY_DATABASE is another, but/,
          env,
          fix: /^POLICY_DATABASE=/,
          stops: true,
        }
      },
      'a key of policies that is missing': () => {
        return { check: 'keys', says: /no such file/, env: { POLICY_PUBLIC_KEYS: join(folder, 'none.pem') } }
      },
      'a port of another program': async () => {
        const server = createServer((_, response) => response.end('hello')).listen(0, '127.0.0.1')
        await once(server, 'listening')
        closing.push(() => server.close())
        const { port } = server.address() as AddressInfo
        return { check: 'ports', says: /EADDRINUSE.*another program/, env: { PORT: `${port}` }, fix: /^PORT=\d+ / }
      },
      'an address that no other service can reach': () => {
        const env = { HOST: '0.0.0.0', PORT: '0' }
        return { check: 'ports', state: 'warning', says: /^PUBLIC_URL is not set/, env, fix: /^PUBLIC_URL=https:/ }
      },
      'a PostgreSQL that does not answer': async () => {
        const env = withDatabase(`postgres://u:sesame@127.0.0.1:${await freePort()}/x`)
        return { check: 'database', says: /ECONNREFUSED/, env, fix: /systemctl/, stops: true }
      },
      'a database that was not created': () => {
        const env = withDatabase(postgres.url.replace(/postgres$/, 'nowhere'))
        return { check: 'database', says: /does not exist/, env, fix: /^createdb /, stops: true }
      },
      'a PostgreSQL that takes no writes': () => {
        sql('create database taking_none', 'alter database taking_none set default_transaction_read_only = on')
        return {
          check: 'database',
          says: /takes no writes/,
          env: { DATABASE_URL: databaseNamed('taking_none') },
          fix: /<primary>/,
        }
      },
      'more connections than PostgreSQL takes': () => {
        const env = { DATABASE_URL: postgres.url, DATABASE_POOL: '200', LIMIT_INSTANCES: '3' }
        return {
          check: 'database',
          state: 'warning',
          says: /3 processes may open 612 connections/,
          env,
          fix: /^DATABASE_POOL=\d+ /,
        }
      },
      'a pooler that nobody told of': async () => {
        const port = await startPgBouncer(postgres)
        const url = postgres.url.replace(`:${postgres.port}/`, `:${port}/`)
        return {
          check: 'database',
          says: /unsupported startup parameter/,
          env: withDatabase(url),
          fix: /^DATABASE_POOLER=transaction /,
          stops: true,
        }
      },
      'a database server without KEYS_SECRET': () => {
        const env = { DATABASE_URL: postgres.url }
        return { check: 'keys', says: /only kept encrypted/, env, fix: /^KEYS_SECRET=/, stops: true }
      },
      'keys of an earlier version that were imported': () => {
        cpSync(own, folder, { recursive: true })
        const jwk = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })
        writeFileSync(join(folder, 'data/keys/signing.jwk'), JSON.stringify(jwk), { mode: 0o600 })
        return { check: 'keys', state: 'warning', says: /no longer read/, fix: /^rm -f \S+signing\*\.jwk \S+\*\.ends$/ }
      },
      'a Redis that does not answer': async () => {
        const env = { REDIS_URL: `redis://:sesame@127.0.0.1:${await freePort()}` }
        return { check: 'redis', says: /ECONNREFUSED/, env, fix: /systemctl/ }
      },
      'a Redis that is another server': async () => {
        const server = createServer((_, response) => response.end('hello')).listen(0, '127.0.0.1')
        await once(server, 'listening')
        closing.push(() => server.close())
        const env = { REDIS_URL: `redis://127.0.0.1:${(server.address() as AddressInfo).port}` }
        return { check: 'redis', says: /answers, but not as Redis does/, env, fix: /^REDIS_URL=redis:/ }
      },
      'a Redis that wants a password': async () => {
        const closed = await startRedis({ args: ['--requirepass', 'sesame'] })
        closing.push(() => closed.stop())
        return {
          check: 'redis',
          says: /NOAUTH/,
          env: { REDIS_URL: closed.url },
          fix: /^REDIS_URL='redis:\/\/:<password>@/,
        }
      },
      'a Redis with another clock': async () => {
        const offset = join(folder, 'offset')
        writeFileSync(offset, '+3600')
        const shifted = await startRedis({ env: fakeClock(offset) })
        closing.push(() => shifted.stop())
        return {
          check: 'redis',
          state: 'warning',
          says: /the clock here is 3[56]\d\d\.\d s behind/,
          env: { REDIS_URL: shifted.url },
        }
      },
    }
  }

  function examine(env: Environment, flags: Flags = {}, data = folder): Promise<Diagnosis> {
    const environment = given(env, data)
    return examineInstallation({
      environment,
      flags,
      placeOf: (config) => policyPlace(config.policies, config),
      unreviewed: async () => [],
    })
  }

  function given(env: Environment, data = folder): Environment {
    const folders = { POLICIES: join(ROOT, 'policies'), SCHEMAS: join(ROOT, 'schemas') }
    return { ...folders, PORT: '0', ADMIN_PORT: '0', DATA_DIR: join(data, 'data'), ...env }
  }

  async function start(environment: Environment, flags: Flags = {}): Promise<App> {
    return startApp({ config: readConfig(environment, flags), log: pino({ level: 'silent' }) })
  }

  function sql(...statements: readonly string[]): void {
    const psql = join(dirname(realpathSync(program('postgres'))), 'psql')
    const flags = ['-qX', postgres.url, ...statements.flatMap((text) => ['-c', text])]
    execFileSync(psql, flags, { stdio: 'pipe' })
  }

  function databaseNamed(name: string): string {
    return postgres.url.replace(/postgres$/, name)
  }
})

/** Every check; the others are parts of these. */
const EACH = [
  'node',
  'program',
  'settings',
  'data folder',
  'folders',
  'policy',
  'database',
  'redis',
  'keys',
  'clock',
  'ports',
  'limits',
]

function faultsOf(checks: readonly Checked[]): readonly Checked[] {
  return checks.filter(({ state }) => state === 'fault')
}

function warningsOf(checks: readonly Checked[], name: string): readonly Checked[] {
  return checks.filter(({ check, state }) => check === name && state === 'warning')
}

function newFolder(): string {
  return removeWithTests(mkdtempSync(join(tmpdir(), 'sallyport-doctor-')))
}

/** Every file with its content. The index of the write-ahead log notes who reads. */
function contents(folder: string): Readonly<Record<string, string>> {
  // A server begins the tree of its log a second after its start.
  const isLeftOut = (name: string) => name.endsWith('-shm') || name.includes('.log.tree')
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => !isLeftOut(name))
  const files = paths.map((name) => join(folder, name)).filter((path) => statSync(path).isFile())
  return Object.fromEntries(files.map((path) => [path, createHash('sha256').update(readFileSync(path)).digest('hex')]))
}

function pathOf(): string {
  return [process.env.PATH, dirname(program('redis-server'))].join(delimiter)
}
