import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { createApiKey, hashOfSecret, isSecretOf, readApiKey } from '../../src/identity/directory/api-key.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { type Ended, runCommand } from './processes.ts'

const SCHEMA = new URL('../../docs/schemas/key-list.schema.json', import.meta.url)
const HOUR = 3_600_000

describe('API keys', () => {
  let server: TestServer
  /** The server's clock. */
  let time: number

  before(async () => {
    time = Date.now()
    server = await startTestServer({ demo: true, now: () => new Date(time) })
  })
  beforeEach(() => {
    time = Date.now()
  })
  after(() => server.stop())

  const run = (...args: readonly string[]): Promise<Ended> => runCommand(join(server.folder, 'data'), ['key', ...args])
  const notes = (token: string) => server.ask('GET', '/api/v1/notes', { token })

  /** Without the command, which takes its time. */
  async function grant(subject: string, roles: readonly string[], expiresAt = time + HOUR) {
    const { id, text, secret } = createApiKey()
    const key = { id, secretHash: hashOfSecret(secret), subject, roles, name: '', createdAt: time, expiresAt }
    await server.app.directory.addKey(key)
    return { id, text }
  }

  async function refusalOf(token: string): Promise<readonly unknown[]> {
    const { status, body } = await notes(token)
    const { reason, subject } = (await server.lastDecision({ method: 'GET' })) ?? {}
    return [status, body.code, reason, subject]
  }

  describe('as commands', () => {
    // Each is a process, and there may be many.

    it('add prints a key once, alone on stdout, and it lets its subject in at once', async () => {
      const added = await run(
        'add',
        '--subject',
        'robot',
        '--role',
        'auditor',
        '--expires',
        '90d',
        '--name',
        'a report',
      )
      expect(added.code).to.equal(0)
      expect(added.stdout).to.match(/^sp_[1-9A-HJ-NP-Za-km-z]{10}_[1-9A-HJ-NP-Za-km-z]{32}\n$/)
      expect(added.stderr)
        .to.match(/of robot, auditor, until .* never shown again/)
        .and.to.contain('sallyport key revoke')
      expect(added.stderr).not.to.contain(added.stdout.trim())
      expect((await notes(added.stdout.trim())).body.items).to.have.length(8)
      expect(await server.lastDecision({ method: 'GET' })).to.deep.include({ subject: 'robot', roles: ['auditor'] })
    })

    it('add says which roles the users record of the subject lacks', async () => {
      const { code, stderr } = await run('add', '--subject', 'alice', '--role', 'member', 'admin', '--expires', '1h')
      expect(code).to.equal(0)
      expect(stderr).to.contain('The users record of alice lacks admin')
    })

    it('add refuses a role that is not declared, and names those that are', async () => {
      const { code, stdout, stderr } = await run('add', '--subject', 'robot', '--role', 'boss', '--expires', '1h')
      expect([code, stdout]).to.deep.equal([2, ''])
      expect(stderr).to.match(
        /^sallyport: the role `boss` is not declared in roles.yaml; choose from .*member.*admin.*\n$/,
      )
    })

    it('list tells what became of each, in the form that its schema says', async () => {
      const { id, text } = await grant('counter', ['member'], time + HOUR)
      await grant('old', ['member'], time - 1)
      await notes(text)
      await server.app.directory.revokeKey(id)
      const [json, table] = await Promise.all([run('list', '--format', 'json'), run('list')])
      const validate = new Ajv2020({ formats: { 'date-time': true } }).compile(
        JSON.parse(await readFile(SCHEMA, 'utf8')),
      )
      const listed = JSON.parse(json.stdout)
      expect(validate(listed), JSON.stringify(validate.errors)).to.equal(true)
      const states = new Map(listed.keys.map((key: { subject: string; state: string }) => [key.subject, key.state]))
      expect([states.get('counter'), states.get('old'), states.get('robot')]).to.deep.equal([
        'revoked',
        'expired',
        'active',
      ])
      expect(json.stdout + table.stdout).not.to.contain(text.split('_')[2])
      expect(table.stdout)
        .to.match(/^KEY +STATE +SUBJECT +ROLES/)
        .and.to.match(/ revoked +counter +member /)
    })

    it('revoke takes a key away, named by its id or whole', async () => {
      const { id, text } = await grant('robot', ['auditor'])
      expect((await notes(text)).status).to.equal(200)
      expect(await run('revoke', text)).to.deep.equal({
        code: 0,
        stdout: `The API key ${id} is revoked.\n`,
        stderr: '',
      })
      expect(await refusalOf(text)).to.deep.equal([401, 'token-invalid', 'API key revoked', 'robot'])
    })

    it('what can not be done is told in one sentence', async () => {
      const none = await run('revoke', 'none')
      expect([none.code, none.stderr]).to.deep.equal([
        2,
        'sallyport: there is no API key none: take an id from `sallyport key list`\n',
      ])
      const elsewhere = await runCommand(join(server.folder, 'nowhere'), ['key', 'list'])
      expect([elsewhere.code, elsewhere.stdout]).to.deep.equal([2, ''])
      expect(elsewhere.stderr).to.match(/^sallyport: there is no database .*; start the server once, or set DATA_DIR/)
    })
  })

  it('end at the millisecond that they say', async () => {
    const { text } = await grant('robot', ['auditor'], time + HOUR)
    time += HOUR - 1
    expect((await notes(text)).status).to.equal(200)
    time += 1
    expect(await refusalOf(text)).to.deep.equal([401, 'token-expired', 'API key expired', 'robot'])
  })

  it('have no role that their subject, being a user here, has not got', async () => {
    const { text } = await grant('alice', ['member', 'admin'])
    const answer = await notes(text)
    expect(answer.body.items).to.have.length(2)
    expect(await server.lastDecision({ method: 'GET' })).to.deep.include({ subject: 'alice', roles: ['member'] })
  })

  it('stand in the record by their id, used or refused, so that what one of them did can be found', async () => {
    const [one, other] = [await grant('robot', ['auditor']), await grant('robot', ['auditor'])]
    await notes(one.text)
    await notes(other.text)
    await server.app.directory.revokeKey(one.id)
    await notes(one.text)
    await notes(await server.token('robot', 'auditor'))
    const records = (await server.decisions()).filter(({ method }) => method === 'GET').slice(-4)
    expect(records.map(({ subject, credential, reason }) => [subject, credential, reason])).to.deep.equal([
      ['robot', `key ${one.id}`, undefined],
      ['robot', `key ${other.id}`, undefined],
      ['robot', `key ${one.id}`, 'API key revoked'],
      ['robot', undefined, undefined],
    ])
  })

  it('are refused when anything of them is wrong, and the record does not repeat them', async () => {
    const { text } = await grant('robot', ['auditor'])
    const other = await grant('other', ['auditor'])
    const [, id = '', secret = ''] = text.split('_')
    const wrong = [
      `sp_${id}_${other.text.split('_')[2]}`,
      `sp_${other.id}_${secret}`,
      `sp_${id}_${secret.slice(0, -1)}${secret.endsWith('1') ? '2' : '1'}`,
      `sp_${'1'.repeat(10)}_${secret}`,
    ]
    for (const token of wrong) {
      expect(await refusalOf(token)).to.deep.equal([401, 'token-invalid', 'unknown API key', undefined])
    }
    const misshapen = [
      `sp_${id}`,
      `sp_${id}_`,
      `sp_${id}_${secret}1`,
      `sp_${id}_${secret}==`,
      `sp__${secret}`,
      `sp_${id}_0${secret.slice(1)}`,
    ]
    for (const token of misshapen) {
      expect(await refusalOf(token)).to.deep.equal([401, 'token-invalid', 'not the form of an API key', undefined])
    }
    expect((await notes(text)).status).to.equal(200)
    expect(JSON.stringify([await server.decisions(), server.log])).not.to.contain(secret)
  })

  it('are kept as a hash that only their secret has', async () => {
    const { text } = await grant('robot', ['auditor'])
    const secret = readApiKey(text)?.secret ?? ''
    const [found] = (await server.app.directory.keys()).filter(({ id }) => text.includes(id))
    expect(JSON.stringify(found)).not.to.contain(secret)
    expect(isSecretOf(secret, found?.secretHash ?? '')).to.equal(true)
    expect(isSecretOf(`${secret}1`, found?.secretHash ?? '')).to.equal(false)
    expect(isSecretOf(secret, 'shorter')).to.equal(false)
  })

  it('differ, and are of the characters that do not look alike', () => {
    const made = Array.from({ length: 500 }, createApiKey)
    expect(new Set(made.map(({ secret }) => secret)).size).to.equal(500)
    expect(made.map(({ text }) => text).join('')).not.to.match(/[0OIl]/)
    for (const { id, secret, text } of made) expect(readApiKey(text)).to.deep.equal({ id, secret })
  })
})
