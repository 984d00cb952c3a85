/**
 * A start that fails says why in one sentence, with the command that fixes it: each is provoked, its command is run as
 * printed, and then the server starts. What depends on the process (its rights, its folder, its flags, its workers) is
 * tried with real processes, the rest in this one.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { parseEnv } from 'node:util'
import { expect } from 'chai'
import { pino } from 'pino'
import { withDatabase } from '../../bench/fixture/environment.ts'
import { type Flags, readConfig } from '../../src/config/config.ts'
import { failureText, fixOf } from '../../src/config/fix-of.ts'
import { startApp } from '../../src/server/app.ts'
import { endNow, removeWithTests } from '../ends-with-tests.ts'
import { AS_NOBODY, NOBODY } from '../nobody.ts'
import { type PostgresServer, sharedPostgres } from '../postgres.ts'
import { program } from '../programs.ts'
import { freePort } from '../redis.ts'
import { inTurn, soak } from '../runs.ts'
import { formerKeys } from './former-keys.ts'

const ROOT = new URL('../..', import.meta.url).pathname
const LAUNCHER = join(ROOT, 'bin/sallyport.js')
/** A user without rights; the tests themselves run as root where they take rights away. */

type Environment = Readonly<Record<string, string>>

interface Broken {
  /** What the sentence says. */
  readonly says: RegExp
  /** The command that is printed. */
  readonly fix: RegExp
  readonly env?: Environment
  readonly flags?: Flags
  /** What to fill in, where only the reader knows it. */
  readonly fill?: Readonly<Record<string, string>>
  /** The command can't be run here, or shows only what to do. */
  readonly untried?: boolean
}

interface BrokenProcess extends Broken {
  readonly args?: readonly string[]
  /** The path that this user may write then; without it, the server is started again. */
  readonly opens?: string
  /** The server has no rights of root. */
  readonly asNobody?: boolean
}

/** An archive takes the place of a damaged file. */
const RESTORED =
  /^sallyport restore <archive> restored && mkdir (\S+)\.damaged && mv \1(?: \1-\w+)* \1\.damaged && mv \S+ \1$/

type Cases<B> = Readonly<Record<string, (folder: string) => B | Promise<B>>>

describe('a start that fails says so and what fixes it, which does', () => {
  let postgres: PostgresServer
  let folder: string
  /** A data folder after a first start, and one with the demo. */
  let [own, demo] = ['', '']
  const children: ChildProcess[] = []
  const closing: (() => unknown)[] = []

  before(async () => {
    postgres = await sharedPostgres()
    program('openssl')
    sql('postgres', 'do $$ begin create role postgres superuser login; exception when duplicate_object then end $$')
    ;[own, demo] = [newFolder(), newFolder()]
    for (const [DATA_DIR, flags] of [
      [join(own, 'data'), {}],
      [join(demo, 'data'), { demo: true }],
    ] as const) {
      expect(await failureIn({ DATA_DIR }, flags)).to.equal(undefined)
    }
  })
  beforeEach(() => {
    folder = newFolder()
  })
  afterEach(async () => {
    for (const close of closing.splice(0)) await close()
  })
  after(async () => {
    for (const child of children) await endNow(child)
  })

  for (const [name, broken] of Object.entries(casesHere())) {
    it(name, async () => {
      const { says, fix, env = {}, flags = {}, fill = {}, untried } = await broken(folder)
      const found = await failureIn(given(env), flags)
      expect(failureText(found as Error, ['serve']))
        .to.match(says)
        .and.to.match(/^[^\n]+: run `[^`]+`$/)
      const printed = fixOf(found) ?? ''
      expect(printed).to.match(fix)
      const command = Object.entries(fill).reduce((text, [word, value]) => text.replaceAll(word, value), printed)
      if (untried) return
      const after = shell(command, given(env))
      expect(await failureIn(after, flags), command).to.equal(undefined)
    })
  }

  for (const [name, broken] of inTurn(Object.entries(casesOfProcesses()), soak(2, 3))) {
    it(`${name}, as a process`, async () => {
      const found = await broken(folder)
      const { code, said } = await start(found)
      expect(code, said).to.equal(2)
      expect(said).to.match(found.says)
      const [, fix = ''] = /^sallyport: [^\n]+: run `([^`]+)`\n$/.exec(said) ?? []
      expect(fix, said).to.match(found.fix)
      // Root runs what asks for root; the rest runs as whoever started the server.
      const asNobody = Boolean(found.asNobody) && !fix.startsWith('sudo ')
      const command = Object.entries(found.fill ?? {}).reduce((text, [word, to]) => text.replaceAll(word, to), fix)
      const fixed = await run(['bash', '-c', command], { ...found, asNobody })
      if (found.opens !== undefined) {
        expect((await run(['test', '-w', found.opens], found)).code, `${command}\n${fixed.said}`).to.equal(0)
        return
      }
      const { listens, said: later } = fixed.listens ? fixed : await start(found)
      expect(listens, `${command}\n${fixed.said}\n${later}`).to.equal(true)
    })
  }

  it('a KEYS_SECRET that is too short, by a new one that the next start finds, and that no other one replaces', async () => {
    const weak = await failureIn(given({ KEYS_SECRET: 'hunter2' }))
    expect((weak as Error).message).to.match(/a new one that you keep/)
    shell(fixOf(weak) ?? '', given({}))
    expect(statSync(join(folder, '.env')).mode & 0o077).to.equal(0)
    const kept = parseEnv(readFileSync(join(folder, '.env'), 'utf8')) as Environment
    expect(await failureIn(given(kept))).to.equal(undefined)
    const other = await failureIn(given({ KEYS_SECRET: randomBytes(32).toString('base64') }))
    const command = failureText(other as Error, ['serve'])
    expect(command).to.match(/can't decrypt .*: run `KEYS_SECRET='<the value that encrypted them>' /)
    const filled = (fixOf(other) ?? '').replace('<the value that encrypted them>', kept.KEYS_SECRET ?? '')
    expect(await failureIn(shell(filled, given({})))).to.equal(undefined)
  })

  it('a damaged database, by its archive: without one nothing is moved, so no start makes an empty one', async () => {
    cpSync(own, folder, { recursive: true })
    const [file, ownFile] = [join(folder, 'data/sallyport.db'), join(own, 'data/sallyport.db')]
    truncateSync(file, 5000)
    const damaged = readFileSync(file)
    const fix = fixOf(await failureIn(given({}))) ?? ''
    expect(fix).to.match(RESTORED)
    const without = spawnSync('bash', ['-c', fix.replace('<archive>', 'none.tar')], {
      cwd: folder,
      env: { PATH: pathOf() },
    })
    expect(without.status).to.equal(2)
    expect(readFileSync(file).equals(damaged)).to.equal(true)
    expect(await failureIn(given({}))).to.be.instanceOf(Error)
    shell(fix.replace('<archive>', archive()), given({}))
    expect(secretsIn(file)).to.deep.equal(secretsIn(ownFile))
    expect(await failureIn(given({}))).to.equal(undefined)
    // The negative control: an empty database makes its own secrets.
    rmSync(file)
    expect(await failureIn(given({}))).to.equal(undefined)
    expect(secretsIn(file)).to.not.deep.equal(secretsIn(ownFile))
  })

  /** Of the data folder after a first start. */
  function archive(): string {
    const file = join(folder, 'archive.tar')
    const env = { ...process.env, DATA_DIR: join(own, 'data') }
    execFileSync(process.execPath, [LAUNCHER, 'backup', file], { cwd: ROOT, env, stdio: 'pipe' })
    return file
  }

  it('a start with nothing to fix would be noticed', async () => {
    expect(await failureIn(given({}))).to.equal(undefined)
    expect(fixOf(new Error('PORT is no setting here'))).to.equal(undefined)
  })

  function casesHere(): Cases<Broken> {
    return {
      'a setting with a wrong value': () => ({
        says: /PORT is "x"/,
        env: { PORT: 'x' },
        fix: /^PORT=3000 /,
        fill: { '3000': '0' },
      }),
      'a setting that is none': () => {
        return { says: /OIDC_SECRET is not a setting/, env: { OIDC_SECRET: 'x' }, fix: /^env -u OIDC_SECRET / }
      },
      'a port that is taken': async () => {
        return { says: /EADDRINUSE/, env: { PORT: `${await taken()}` }, fix: /^PORT=\d+ / }
      },
      'an address of another machine': () => {
        return { says: /EADDRNOTAVAIL/, env: { HOST: '192.0.2.1' }, fix: /^HOST=127\.0\.0\.1 / }
      },
      'a data folder that is a file': () => {
        writeFileSync(join(folder, 'data'), '')
        return { says: /DATA_DIR is `.*file already exists/, fix: /^mv \S+data \S+data\.before$/ }
      },
      'a full disk': () => {
        const data = mounted('size=64k')
        return { says: /disk is full/, env: { DATA_DIR: data }, fix: /^df -h \S+$/, untried: true }
      },
      'a file that is no database': () => {
        cpSync(own, folder, { recursive: true })
        writeFileSync(join(folder, 'data/sallyport.db'), 'no database\n'.repeat(500))
        return { says: /not a database/, fix: RESTORED, fill: { '<archive>': archive() } }
      },
      'a database that another process has locked': async () => {
        cpSync(own, folder, { recursive: true })
        await locked(join(folder, 'data/sallyport.db'))
        return { says: /database is locked/, fix: /^kill \d+$/ }
      },
      'a database of a later version': () => {
        cpSync(own, folder, { recursive: true })
        const database = new DatabaseSync(join(folder, 'data/sallyport.db'))
        database.exec('pragma user_version = 99')
        database.close()
        return { says: /layout 99/, fix: /^npm install sallyport@latest$/, untried: true }
      },
      'demo data': () => {
        const env = { DATA_DIR: join(demo, 'data') }
        return { says: /demo callers/, env, fix: /^sallyport serve --demo$/, untried: true }
      },
      'data that is not of the demo': () => {
        const env = { DATA_DIR: join(own, 'data') }
        const fill = { 'demo-data': join(folder, 'demo-data') }
        return { says: /data of its own/, env, flags: { demo: true }, fix: /^DATA_DIR=demo-data /, fill }
      },
      'a signing key that others can read': () => {
        cpSync(own, folder, { recursive: true })
        chmodSync(formerKeys(join(folder, 'data')), 0o644)
        return { says: /others can read/, fix: /^chmod 600 \S+signing\.jwk$/ }
      },
      'signing keys that others can replace': () => {
        cpSync(own, folder, { recursive: true })
        formerKeys(join(folder, 'data'))
        chmodSync(join(folder, 'data/keys'), 0o777)
        return { says: /others can replace/, fix: /^chmod 700 \S+keys$/ }
      },
      'a damaged signing key': () => {
        cpSync(own, folder, { recursive: true })
        writeFileSync(formerKeys(join(folder, 'data')), '{')
        return { says: /not an Ed25519 key/, fix: /^rm \S+signing\.jwk$/ }
      },
      'a database server without KEYS_SECRET': () => {
        const env = { DATABASE_URL: postgres.url }
        return { says: /KEYS_SECRET is not set/, env, fix: /^KEYS_SECRET="\$\(openssl/ }
      },
      'a secret of signing keys that others can read': () => {
        cpSync(own, folder, { recursive: true })
        chmodSync(join(folder, 'data/keys/secret'), 0o644)
        return { says: /others can read/, fix: /^chmod 600 \S+secret$/ }
      },
      'a lost secret of signing keys': () => {
        cpSync(own, folder, { recursive: true })
        rmSync(join(folder, 'data/keys/secret'))
        return { says: /there is no \S+secret: restore the file/, fix: /^KEYS_SECRET=/, untried: true }
      },
      'a weak KEYS_SECRET': () => {
        return { says: /KEYS_SECRET is not 32/, env: { KEYS_SECRET: 'hunter2' }, fix: /^KEYS_SECRET="\$\(openssl/ }
      },
      'a decision log that is another file': () => {
        const file = join(folder, 'notes.txt')
        writeFileSync(file, 'mine\n')
        return { says: /not a decision log/, env: { DECISION_LOG_FILE: file }, fix: /^mv \S+ \S+notes\.txt\.before$/ }
      },
      'a decision log that is a folder': () => {
        return { says: /it is a folder/, env: { DECISION_LOG_FILE: folder }, fix: /^DECISION_LOG_FILE=- / }
      },
      'a policy of the database without keys': () => {
        const env = { POLICIES: 'database:' }
        return { says: /POLICY_PUBLIC_KEYS is not set/, env, fix: /^POLICY_PUBLIC_KEYS=<file> /, untried: true }
      },
      'a public key of policies that is the private one': () => {
        const key = join(folder, 'key.pem')
        execFileSync(program('openssl'), ['genpkey', '-algorithm', 'ed25519', '-out', key])
        const env = { POLICIES: 'database:', POLICY_PUBLIC_KEYS: key }
        // There is no published policy yet, so the server wouldn't start.
        return { says: /holds a private key/, env, fix: /^openssl pkey -in \S+key\.pem -pubout/, untried: true }
      },
      'a PostgreSQL that does not answer': async () => {
        const env = withDatabase(`postgres://u:sesame@127.0.0.1:${await freePort()}/x`)
        return { says: /ECONNREFUSED(?!.*sesame)/, env, fix: /^sudo systemctl start postgresql$/, untried: true }
      },
      'a database that was not created': () => {
        const env = withDatabase(postgres.url.replace(/postgres$/, 'not-there'))
        return {
          says: /does not exist/,
          env,
          fix: /^createdb -h 127\.0\.0\.1 -p \d+ -U postgres -O sallyport not-there$/,
        }
      },
      'a user of PostgreSQL that was not created': () => {
        sql('postgres', 'create database for_all')
        sql('for_all', 'grant all on schema public to public')
        const env = withDatabase(`postgres://newcomer@127.0.0.1:${postgres.port}/for_all`)
        return { says: /role "newcomer" does not exist/, env, fix: /^createuser .* newcomer$/ }
      },
      'a user of PostgreSQL without rights': () => {
        sql('postgres', 'create role guest login', 'create database not_theirs')
        const env = withDatabase(`postgres://guest@127.0.0.1:${postgres.port}/not_theirs`)
        return {
          says: /permission denied/,
          env,
          fix: /^psql .* -d not_theirs -c 'GRANT CREATE, USAGE .* TO "guest"'$/,
        }
      },
      'a PostgreSQL without TLS': () => {
        sql('postgres', 'create database plain')
        const env = withDatabase(`postgres://sallyport@127.0.0.1:${postgres.port}/plain?sslmode=verify-full`)
        return { says: /SSL/, env, fix: /^DATABASE_URL='.*sslmode=disable' /, fill: { ':<password>': '' } }
      },
      'a replica in place of the database': () => {
        sql('postgres', 'create database follower', 'alter database follower set default_transaction_read_only = on')
        const env = withDatabase(`postgres://sallyport@127.0.0.1:${postgres.port}/follower`)
        return { says: /read-only/, env, fix: /@<primary>:/, untried: true }
      },
    }
  }

  function casesOfProcesses(): Cases<BrokenProcess> {
    return {
      'an empty folder': () => ({
        says: /SCHEMAS is `schemas`, but there is no such folder/,
        fix: /init \. --yes && .* serve$/,
      }),
      'a folder beside the project': () => {
        mkdirSync(join(folder, 'my api'))
        makeProject(join(folder, 'my api'))
        return { says: /no such folder/, fix: /^POLICIES='my api\/policies' SCHEMAS='my api\/schemas' / }
      },
      'a policy folder of a flag that has nothing of a policy': () => {
        makeProject(folder)
        mkdirSync(join(folder, 'empty'))
        const args = ['--policies', 'empty']
        return { says: /`empty`, but that folder has no policy files/, args, fix: /^POLICIES=policies .* serve$/ }
      },
      'a port of a flag that is taken, with workers': async () => {
        makeProject(folder)
        const args = ['--port', `${await taken()}`, '--workers', '2']
        return { says: /EADDRINUSE/, args, fix: /^PORT=\d+ .* serve --workers 2$/ }
      },
      'a port that needs rights': () => {
        makeProject(folder)
        mkdirSync(join(folder, 'data'))
        chownSync(join(folder, 'data'), NOBODY, NOBODY)
        return { says: /EACCES/, env: { PORT: '80' }, asNobody: true, fix: /^PORT=8080 /, fill: { '=8080': '=0' } }
      },
      'a data folder of another user': () => {
        makeProject(folder)
        mkdirSync(join(folder, 'data'), { mode: 0o755 })
        return {
          says: /DATA_DIR is `data`.*permission denied/,
          asNobody: true,
          fix: /^sudo chown -R 65534:65534 data$/,
        }
      },
      'a data folder that its user may not make': () => {
        makeProject(folder)
        mkdirSync(join(folder, 'srv'), { mode: 0o755 })
        const env = { DATA_DIR: 'srv/data' }
        return {
          says: /permission denied/,
          env,
          asNobody: true,
          opens: 'srv/data',
          fix: /^sudo install -d -m 700 -o 65534 -g 65534 srv\/data$/,
        }
      },
      'a data folder that its owner closed': () => {
        makeProject(folder)
        mkdirSync(join(folder, 'data'), { mode: 0o500 })
        chownSync(join(folder, 'data'), NOBODY, NOBODY)
        return { says: /permission denied/, asNobody: true, opens: 'data', fix: /^chmod -R u\+rwX data$/ }
      },
      'a signing key of another user': () => {
        makeProject(folder)
        cpSync(own, folder, { recursive: true })
        const file = formerKeys(join(folder, 'data'))
        execFileSync('chown', ['-R', `${NOBODY}`, join(folder, 'data')])
        chownSync(file, 0, 0)
        return {
          says: /can't be read \(permission denied\)/,
          asNobody: true,
          fix: /^sudo chown -R 65534:65534 data\/keys\/signing\.jwk$/,
        }
      },
      'a database file of another user': () => {
        makeProject(folder)
        cpSync(own, folder, { recursive: true })
        execFileSync('chown', ['-R', `${NOBODY}`, join(folder, 'data')])
        chownSync(join(folder, 'data/sallyport.db'), 0, 0)
        return {
          says: /EACCES/,
          asNobody: true,
          opens: 'data/sallyport.db',
          fix: /^sudo chown -R 65534:65534 data\/sallyport\.db$/,
        }
      },
    }
  }

  /** Why a server with these settings doesn't start; undefined where it does. */
  async function failureIn(env: NodeJS.ProcessEnv, flags: Flags = {}): Promise<unknown> {
    try {
      const folders = { POLICIES: join(ROOT, 'policies'), SCHEMAS: join(ROOT, 'schemas'), PORT: '0', ADMIN_PORT: '0' }
      const config = readConfig({ ...folders, ...env }, flags)
      await (await startApp({ config, log: pino({ level: 'silent' }) })).drain()
      return undefined
    } catch (error) {
      return error
    }
  }

  function given(env: Environment): NodeJS.ProcessEnv {
    return { DATA_DIR: join(folder, 'data'), ...env }
  }

  /** Runs a command; the settings that a server would have that it starts. */
  function shell(command: string, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
    const path = { PATH: pathOf(), PORT: env.PORT ?? '0' }
    const line = command.replace('{again}', 'env -0')
    const { stdout, stderr, status } = spawnSync('bash', ['-c', line], {
      cwd: folder,
      env: { ...path, ...env },
      encoding: 'utf8',
    })
    expect(status, `${line}\n${stderr}`).to.equal(0)
    if (line === command) return env
    return Object.fromEntries(stdout.split('\0').map((one) => [one.split('=')[0], one.slice(one.indexOf('=') + 1)]))
  }

  function sql(database: string, ...statements: readonly string[]): void {
    const flags = ['-h', '127.0.0.1', '-p', `${postgres.port}`, '-U', 'sallyport', '-d', database, '-qX']
    execFileSync(
      join(dirname(realpathSync(program('postgres'))), 'psql'),
      [...flags, ...statements.flatMap((text) => ['-c', text])],
      { stdio: 'pipe' },
    )
  }

  function mounted(options: string): string {
    const place = join(folder, 'mounted')
    mkdirSync(place)
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', place])
    closing.push(() => execFileSync('umount', [place]))
    return place
  }

  async function taken(): Promise<number> {
    const port = await freePort()
    const server = createServer().listen(port, '127.0.0.1')
    await once(server, 'listening')
    closing.push(() => server.close())
    return port
  }

  async function locked(file: string): Promise<void> {
    const script = `const { DatabaseSync } = require('node:sqlite'); const d = new DatabaseSync(${JSON.stringify(file)});
      d.exec('pragma locking_mode = exclusive; begin exclusive'); console.log('locked'); setInterval(() => {}, 1000)`
    const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
    children.push(child)
    await once(child.stdout, 'data')
  }

  function start(broken: BrokenProcess): Promise<Ran> {
    return run([process.execPath, LAUNCHER, 'serve', ...(broken.args ?? [])], broken)
  }

  function run(words: readonly string[], { env = {}, asNobody }: BrokenProcess): Promise<Ran> {
    const settings = { ...process.env, PORT: '0', ADMIN_PORT: '0', HOME: folder, ...env, PATH: pathOf() }
    const [file = '', ...args] = asNobody ? [...AS_NOBODY, ...words] : words
    return new Promise((resolve) => {
      const child = spawn(file, args, { cwd: folder, env: settings, detached: true })
      children.push(child)
      let [said, listens] = ['', false]
      child.stderr.on('data', (text) => {
        said += text
        if (listens || !said.includes('"msg":"listening"')) return
        listens = true
        process.kill(-Number(child.pid), 'SIGTERM')
      })
      child.on('close', (code) => resolve({ code, said, listens }))
    })
  }
})

interface Ran {
  readonly code: number | null
  readonly said: string
  readonly listens: boolean
}

/** Everybody may enter it. Its name is one that a project may have. */
function newFolder(): string {
  const folder = join(removeWithTests(mkdtempSync(join(tmpdir(), 'sallyport-start-'))), 'api')
  mkdirSync(folder)
  for (const one of [dirname(folder), folder]) chmodSync(one, 0o777)
  return folder
}

function makeProject(folder: string): void {
  for (const name of ['policies', 'schemas']) cpSync(join(ROOT, name), join(folder, name), { recursive: true })
}

function secretsIn(file: string): readonly unknown[] {
  const database = new DatabaseSync(file, { readOnly: true })
  try {
    return database.prepare('select name, hex(value) as value from secrets order by name').all()
  } finally {
    database.close()
  }
}

let sudo: string | undefined

/** With the programs that commands name, this one too, and a `sudo` where there is none: the tests have its rights. */
function pathOf(): string {
  if (sudo === undefined) {
    sudo = removeWithTests(mkdtempSync(join(tmpdir(), 'sallyport-sudo-')))
    writeFileSync(join(sudo, 'sudo'), '#!/bin/sh\nexec "$@"\n', { mode: 0o755 })
    const own = `#!/bin/sh\nexec ${process.execPath} ${LAUNCHER} "$@"\n`
    writeFileSync(join(sudo, 'sallyport'), own, { mode: 0o755 })
  }
  return [sudo, dirname(process.execPath), process.env.PATH, dirname(realpathSync(program('postgres')))].join(delimiter)
}
