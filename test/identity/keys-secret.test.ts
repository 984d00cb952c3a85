/**
 * The secret of signing keys: a database file gets one beside it at the first start, a database server needs KEYS_SECRET
 * before anything is opened, and whatever happens to a secret, no key is lost or guessed.
 */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import pg from 'pg'
import { type KeptKeys, openKeys, withKeys } from '../../src/identity/keys/embedded/kept-keys.ts'
import { type KeysSecrets, makeSecretFile, readKeysSecret } from '../../src/identity/keys/embedded/keys-secret.ts'
import { KeyError } from '../../src/identity/keys/key-error.ts'
import { databaseIn } from '../../src/store/open.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { sharedPostgres } from '../postgres.ts'
import { runCommand, startServer } from './processes.ts'

describe('the secret beside a database file', () => {
  let data: string
  let file: string

  beforeEach(async () => {
    data = await mkdtemp(join(tmpdir(), 'sallyport-secret-'))
    file = join(data, 'keys/secret')
  })
  afterEach(() => removeFolder(data))

  /** As a start does. */
  async function start<T>(work: (kept: KeptKeys) => Promise<T>, secrets?: KeysSecrets, folder = data): Promise<T> {
    const kept = await openKeys({ dataDirectory: folder, database: databaseIn(data), secrets }, () => {})
    try {
      return await work(kept)
    } finally {
      await kept.close()
    }
  }
  const kidOf = async (kept: KeptKeys) => (await kept.read()).current.key.kid

  async function refused(starting: Promise<unknown>): Promise<string> {
    const error = await starting.then(
      () => undefined,
      (failed) => failed,
    )
    expect(error, String(error)).to.be.instanceOf(KeyError)
    return (error as KeyError).message
  }

  it('is made by the first start, for its owner alone, and stays', async () => {
    const kid = await start(kidOf)
    const text = await readFile(file, 'utf8')
    expect(text).to.match(/^[A-Za-z0-9+/]{43}=\n$/)
    expect([(await stat(file)).mode & 0o777, (await stat(join(data, 'keys'))).mode & 0o777]).to.deep.equal([
      0o600, 0o700,
    ])
    expect(await start(kidOf)).to.equal(kid)
    expect([await readFile(file, 'utf8'), await readdir(join(data, 'keys'))]).to.deep.equal([text, ['secret']])
  })

  it('is one, and so is the key, where several start at once', async () => {
    const kids = await Promise.all(Array.from({ length: 6 }, () => start(kidOf)))
    expect(new Set(kids).size).to.equal(1)
    expect(await readdir(join(data, 'keys'))).to.deep.equal(['secret'])
  })

  it('is not in the database: who has a copy of the database alone can not sign', async () => {
    await start(kidOf)
    const database = databaseIn(data).location
    const direct = new DatabaseSync(database)
    direct.exec('pragma wal_checkpoint(truncate)')
    const [row] = direct.prepare('select text from signing_keys').all()
    direct.close()
    expect(String(row?.text)).to.match(/^ey[\w-]*\.\./)
    expect((await readFile(database)).includes((await readFile(file, 'utf8')).trim())).to.equal(false)
    const copy = await mkdtemp(join(tmpdir(), 'sallyport-secret-'))
    try {
      await copyFile(database, databaseIn(copy).location)
      const place = { dataDirectory: copy, database: databaseIn(copy), secrets: undefined }
      expect(await refused(openKeys(place, () => {}))).to.match(
        /are encrypted, KEYS_SECRET is not set, and there is no/,
      )
      await mkdir(join(copy, 'keys'), { mode: 0o700 })
      await copyFile(file, join(copy, 'keys/secret'))
      await withKeys(place, kidOf)
    } finally {
      await removeFolder(copy)
    }
  })

  it('that is lost stops the start: no other is made, and the right one opens the keys again', async () => {
    const kid = await start(kidOf)
    const text = await readFile(file)
    await rm(file)
    const said = await refused(start(kidOf))
    expect(said).to.contain(
      `there is no ${file}: restore the file, or set KEYS_SECRET if it encrypted them; if the secret`,
    )
    expect(await readdir(join(data, 'keys'))).to.deep.equal([])
    await writeFile(file, text, { mode: 0o600 })
    expect(await start(kidOf)).to.equal(kid)
  })

  it('of another data folder stops the start, as after a restore: nothing is changed', async () => {
    const kid = await start(kidOf)
    const text = await readFile(file)
    await writeFile(file, `${randomBytes(32).toString('base64')}\n`)
    expect(await refused(start(kidOf))).to.match(/keys\/secret can't decrypt the signing keys .*; set KEYS_SECRET or/)
    await writeFile(file, text)
    expect(await start(kidOf)).to.equal(kid)
  })

  it('that is lost for good costs the sign-ins alone: without the rows, the next start makes a key', async () => {
    const kid = await start(kidOf)
    await rm(file)
    const direct = new DatabaseSync(databaseIn(data).location)
    direct.exec('delete from signing_keys')
    direct.close()
    expect(await start(kidOf)).to.not.equal(kid)
  })

  const own = randomBytes(32).toString('base64')
  const broken: Readonly<Record<string, string>> = {
    'an empty file': '',
    'half a file': own.slice(0, 20),
    'a file of something else': '{"kty":"OKP"}',
    'a secret that anybody could guess': Buffer.alloc(32).toString('base64'),
    'two secrets': `${own}\n${own}\n`,
  }
  for (const [name, text] of Object.entries(broken)) {
    it(`that is ${name} stops the start, and stays as it is`, async () => {
      await mkdir(join(data, 'keys'), { mode: 0o700 })
      await writeFile(file, text, { mode: 0o600 })
      const sentence = `${file} has no secret of signing keys: restore the file, or if the database has no keys yet, delete it`
      expect(await refused(start(kidOf))).to.equal(sentence)
      expect(await readFile(file, 'utf8')).to.equal(text)
      await rm(file)
      await start(kidOf)
    })
  }

  it('that others can read, replace, or lead elsewhere stops the start with what to do', async () => {
    await start(kidOf)
    await chmod(file, 0o640)
    expect(await refused(start(kidOf))).to.equal(`others can read ${file}: let only its owner read it`)
    await chmod(file, 0o600)
    await chmod(join(data, 'keys'), 0o770)
    expect(await refused(start(kidOf))).to.match(/^others can replace the files in /)
    await chmod(join(data, 'keys'), 0o700)
    await start(kidOf)
    const elsewhere = join(data, 'elsewhere')
    await copyFile(file, elsewhere)
    await chmod(elsewhere, 0o644)
    await rm(file)
    await symlink(elsewhere, file)
    expect(await refused(start(kidOf))).to.match(/^others can read /)
  })

  it('that is a pipe, or longer than any secret, stops the start at once', async () => {
    await mkdir(join(data, 'keys'), { mode: 0o700 })
    execFileSync('mkfifo', ['-m', '600', file])
    expect(await refused(start(kidOf))).to.equal(`${file} is no file: move it away`)
    await rm(file)
    await writeFile(file, `${own}${' '.repeat(65 * 1024)}`, { mode: 0o600 })
    expect(await refused(start(kidOf))).to.equal(`${file} is too long for a key or a secret: restore it`)
    await writeFile(file, `${own}${' '.repeat(60 * 1024)}`, { mode: 0o600 })
    await start(kidOf)
  })

  it('counts with line ends as without: programs that print a secret add them', async () => {
    const kid = await start(kidOf)
    const text = (await readFile(file, 'utf8')).trim()
    for (const same of [text, `${text}\r\n`, `${text.slice(0, 20)}\n${text.slice(20)}\n`]) {
      await writeFile(file, same)
      expect(await start(kidOf), JSON.stringify(same)).to.equal(kid)
    }
  })

  it('gives way to KEYS_SECRET: old keys are opened by either until they are encrypted again', async () => {
    const kid = await start(kidOf)
    const secrets = { current: readKeysSecret('KEYS_SECRET', `${own}\n`), old: [] }
    expect(await start(kidOf, secrets)).to.equal(kid)
    const [text] = [await readFile(file)]
    await rm(file)
    expect(await refused(start(kidOf, secrets))).to.match(/^KEYS_SECRET can't decrypt/)
    await writeFile(file, text, { mode: 0o600 })
    expect(await start((kept) => kept.encryptAgain(), secrets)).to.equal(1)
    await rm(file)
    expect(await start(kidOf, secrets)).to.equal(kid)
    expect(await refused(start(kidOf))).to.match(/KEYS_SECRET is not set, and there is no /)
  })

  it('is not needed with KEYS_SECRET from the first start on', async () => {
    await start(kidOf, { current: readKeysSecret('KEYS_SECRET', own), old: [] })
    expect(await readdir(data)).to.not.include('keys')
  })

  it('of two instances with one file and folders of their own: the second one does not start', async () => {
    const other = join(data, 'other')
    await start(kidOf)
    expect(await refused(start(kidOf, undefined, other))).to.match(/there is no \S+other\/keys\/secret/)
    await makeSecretFile(other)
    expect(await refused(start(kidOf, undefined, other))).to.match(/other\/keys\/secret can't decrypt/)
  })

  it('of instances that start at once with secrets of their own, those of one count', async () => {
    const folders = [0, 1, 2, 3].map((i) => join(data, String(i)))
    const kids = await Promise.all(folders.map((folder) => start(kidOf, undefined, folder).catch(() => undefined)))
    expect(kids.filter((kid) => kid !== undefined)).to.have.length(1)
  })

  it('that the disk has no room for leaves no part of a file, and no key', async () => {
    const full = await mkdtemp(join(tmpdir(), 'sallyport-secret-'))
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k,mode=700', 'tmpfs', full])
    try {
      await mkdir(join(full, 'keys'), { mode: 0o700 })
      const filling = join(full, 'filling')
      await writeFile(filling, Buffer.alloc(1 << 20)).catch(() => undefined)
      const said = await refused(start(kidOf, undefined, full))
      expect(said).to.match(
        /^the secret of the signing keys can't be written to \S+keys\/secret \(no space left on device\): make room/,
      )
      expect(await readdir(join(full, 'keys'))).to.deep.equal([])
      await rm(filling)
      await start(kidOf, undefined, full)
    } finally {
      execFileSync('umount', [full])
      await removeFolder(full)
    }
  })

  it('is never printed: not by a start, a command, or an error', async () => {
    const server = await startServer(data)
    try {
      const text = (await readFile(file, 'utf8')).trim()
      const { code, stdout, stderr } = await runCommand(data, ['signing-keys', 'list'])
      expect(code).to.equal(0)
      expect(`${server.log()}${stdout}${stderr}`).to.not.contain(text)
      await writeFile(file, `${text}${text}`)
      const { stderr: fault } = await runCommand(data, ['signing-keys', 'list'])
      expect(fault).to.contain('keys/secret').and.to.not.contain(text.slice(0, 20))
    } finally {
      await server.stop()
    }
  })
})

describe('the secret of a database server', () => {
  let data: string
  let url: string
  const name = () => new URL(url).pathname.slice(1)

  beforeEach(async () => {
    data = await mkdtemp(join(tmpdir(), 'sallyport-secret-'))
    const own = new URL((await sharedPostgres()).url)
    own.pathname = `/keys_${randomBytes(6).toString('hex')}`
    url = own.href
    await ask((await sharedPostgres()).url, `create database ${name()}`)
  })
  afterEach(async () => {
    await ask((await sharedPostgres()).url, `drop database ${name()} with (force)`)
    await removeFolder(data)
  })

  const tables = async () =>
    (await ask(url, 'select tablename from pg_tables where schemaname = current_schema()')).map((row) => row.tablename)

  for (const [state, env] of Object.entries({
    'is not set': {},
    'is empty': { KEYS_SECRET: '' },
    'is not set, and the policy is in the database': { POLICIES: 'database:', POLICY_PUBLIC_KEYS: 'policies.pub' },
  })) {
    it(`that ${state} stops the start before the database is touched`, async () => {
      const said = await startServer(data, { DATABASE_URL: url, KEYS_SECRET: '', ...env }).catch(String)
      expect(said).to.match(/KEYS_SECRET is not set, .* only kept encrypted in .*: set it .*`openssl rand -base64 32`/)
      expect(await tables()).to.deep.equal([])
      expect(await readdir(data)).to.deep.equal([])
    })
  }

  it('lets it start, with a line end too, and makes the tables: the refusals above could fail', async () => {
    const KEYS_SECRET = `${randomBytes(48).toString('base64')}\n`
    const server = await startServer(data, { DATABASE_URL: url, KEYS_SECRET })
    await server.stop()
    expect(await tables()).to.include('signing_keys')
    const again = { DATABASE_URL: url, KEYS_SECRET: KEYS_SECRET.trim() }
    expect((await runCommand(data, ['signing-keys', 'list'], again)).code).to.equal(0)
  })

  it('is weak if it is short, repeats itself or is no base64: a start says so without it', async () => {
    for (const KEYS_SECRET of ['hunter2hunter2', 'A'.repeat(44), `${randomBytes(32).toString('base64')}%`]) {
      const said = await startServer(data, { DATABASE_URL: url, KEYS_SECRET }).catch(String)
      expect(said).to.contain('KEYS_SECRET is not 32 to 256 random bytes in base64').and.to.not.contain(KEYS_SECRET)
    }
    expect(await tables()).to.deep.equal([])
  })
})

async function ask(url: string, text: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}
