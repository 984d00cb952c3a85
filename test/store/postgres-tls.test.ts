/** TLS to PostgreSQL: the certificate must be valid for the host, and no message repeats the password. */
import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, copyFileSync, mkdtempSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import pg from 'pg'
import { StoreUnavailable } from '../../src/store/errors.ts'
import { openPostgres } from '../../src/store/postgres/open.ts'
import { removeNow } from '../ends-with-tests.ts'
import { type PostgresServer, startPostgres } from '../postgres.ts'
import { program } from '../programs.ts'
import { failure, RESOURCES } from './fixture.ts'

describe('a connection to PostgreSQL with TLS', () => {
  let server: PostgresServer
  let directory: string
  before(async () => {
    directory = mkdtempSync(join(tmpdir(), 'sallyport-tls-'))
    for (const name of ['server', 'other']) makeCertificate(join(directory, name))
    server = await startPostgres()
    await withTls(server, join(directory, 'server'))
  })
  after(async () => {
    await server.remove()
    removeNow(directory)
  })

  const open = (host: string, parameters: string) =>
    openPostgres({
      url: `postgres://sallyport:hunter2@${host}:${server.port}/postgres?${parameters}`,
      resources: RESOURCES,
      now: () => new Date(),
    })

  it('is made with the CA of the certificate, and is encrypted', async () => {
    const { store } = await open('localhost', `sslmode=verify-full&sslrootcert=${directory}/server.crt`)
    const client = new pg.Client({ connectionString: server.url })
    await client.connect()
    const text =
      "select count(*)::int as plain from pg_stat_ssl join pg_stat_activity using (pid) where not ssl and application_name = 'sallyport'"
    expect((await client.query(text)).rows).to.deep.equal([{ plain: 0 }])
    await client.end()
    await store.close()
  })

  it('is made with each of several hosts by its own name', async () => {
    const ca = `sslmode=verify-full&sslrootcert=${directory}/server.crt`
    const { store } = await open(`127.0.0.1:${server.port},localhost`, `${ca}&target_session_attrs=read-write`)
    await store.close()
    const wrong = open(`127.0.0.1:${server.port},127.0.0.1`, `${ca}&target_session_attrs=read-write`)
    expect(String(((await failure(wrong)) as Error).cause)).to.match(/no host takes writes \(.*altnames.*altnames/)
  })

  for (const [why, host, parameters] of [
    ['of another CA', 'localhost', 'sslrootcert=other.crt'],
    ['of no CA that is known', 'localhost', ''],
    ['for another name', '127.0.0.1', 'sslrootcert=server.crt'],
  ] as const) {
    it(`is refused with a certificate ${why}`, async () => {
      const file = parameters.replace('sslrootcert=', `sslrootcert=${directory}/`)
      const error = await failure(open(host, `sslmode=verify-full&${file}`))
      expect(error).to.be.instanceOf(StoreUnavailable)
      expect(String((error as Error).cause)).to.match(/certificate|altnames/i)
      expect(everythingOf(error)).to.not.include('hunter2')
    })
  }

  it('is refused with a CA file that is not there, without the password', async () => {
    const error = await failure(open('localhost', 'sslmode=verify-full&sslrootcert=/nowhere.crt'))
    expect(error).to.be.instanceOf(StoreUnavailable)
    expect(everythingOf(error)).to.include('/nowhere.crt').and.not.include('hunter2')
  })

  it('takes any certificate, or none, only where that is said', async () => {
    for (const mode of ['no-verify', 'disable']) {
      const { store } = await open('127.0.0.1', `sslmode=${mode}`)
      await store.close()
    }
  })
})

function makeCertificate(path: string): void {
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  const files = ['-keyout', `${path}.key`, '-out', `${path}.crt`]
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  execFileSync(program('openssl'), ['req', '-x509', ...kind, ...subject, ...files], { stdio: 'pipe' })
}

async function withTls(server: PostgresServer, path: string): Promise<void> {
  const { uid, gid } = statSync(join(server.directory, 'data'))
  for (const end of ['key', 'crt']) {
    const file = join(server.directory, `server.${end}`)
    copyFileSync(`${path}.${end}`, file)
    chmodSync(file, 0o600)
    if (process.getuid?.() === 0) chownSync(file, uid, gid)
  }
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  await client.query(`alter system set ssl_cert_file = '${server.directory}/server.crt'`)
  await client.query(`alter system set ssl_key_file = '${server.directory}/server.key'`)
  await client.query('alter system set ssl = on')
  await client.query('select pg_reload_conf()')
  for (;;) if ((await client.query('show ssl')).rows[0]?.ssl === 'on') break
  await client.end()
}

/** The texts of an error that logs may show, with those of its causes. */
function everythingOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return JSON.stringify(error, Object.getOwnPropertyNames(error)) + everythingOf(error.cause)
}
