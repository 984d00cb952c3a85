/** sallyport user …, beside a running server: what it changes counts from the next request on. */
import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { fullFormats } from 'ajv-formats/dist/formats.js'
import { expect } from 'chai'
import { type Ended, LAUNCHER, ROOT, sallyport } from '../command.ts'
import { program } from '../programs.ts'
import { startTestServer, type TestServer } from '../server.ts'

const PASSWORD = 'correct horse battery'

describe('sallyport user', () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer({ demo: true })
  })
  after(() => server.stop())

  const place = () => ({ DATA_DIR: join(server.folder, 'data'), POLICIES: join(server.folder, 'policies') })

  /** `input` is piped to the command. */
  function user(args: readonly string[], input = ''): Promise<Ended> {
    return sallyport(['user', ...args], { cwd: ROOT, env: place(), input })
  }

  /** Starts the program on a terminal, where a person answers when asked. */
  function typed(args: readonly string[], first: string, second: string): Promise<Omit<Ended, 'stderr'>> {
    const command = [process.execPath, LAUNCHER, 'user', ...args].map((word) => `"${word}"`).join(' ')
    const child = spawn(program('script'), ['-qec', command, '/dev/null'], {
      cwd: ROOT,
      env: { ...process.env, ...place() },
    })
    let stdout = ''
    child.stdout.on('data', (chunk) => {
      stdout += chunk
      const asked = /(New password|Again): $/.exec(String(chunk))?.[1]
      if (asked) child.stdin.write(`${asked === 'Again' ? second : first}\r`)
    })
    return new Promise((resolve) => child.on('close', (code) => resolve({ code: code ?? 1, stdout })))
  }

  const signIn = (email: string, password: string, more = {}) =>
    server.ask('POST', '/api/tokens', { body: { email, password, ...more } })
  const profile = (token: string) => server.ask('GET', '/profile', { token })

  it('add and password let somebody new in, with the roles that were named', async () => {
    const added = await user([
      'add',
      '--email',
      'zoe@example.com',
      '--name',
      'Zoe',
      '--id',
      'zoe',
      '--role',
      'support',
      'member',
    ])
    expect([added.code, added.stdout]).to.deep.equal([0, 'zoe\n'])
    expect((await signIn('zoe@example.com', PASSWORD)).status, 'without a password yet').to.equal(401)
    const set = await user(['password', 'zoe@example.com'], `${PASSWORD}\n`)
    expect([set.code, set.stdout, set.stderr]).to.deep.equal([
      0,
      '',
      'zoe has a new password; all earlier sessions have ended.\n',
    ])
    const { body } = await signIn('zoe@example.com', PASSWORD)
    expect((await profile(body.access_token)).body).to.deep.include({ id: 'zoe', roles: ['support', 'member'] })
  })

  it('add gives an id like the server does, where none is named', async () => {
    const { stdout } = await user(['add', '--email', 'yan@example.com', '--name', 'Yan'])
    expect(stdout).to.match(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\n$/)
  })

  it('password ends the sessions from before; generated ones stand alone on stdout, and can be for one time', async () => {
    const { body } = await signIn('sam@example.com', 'sallyport-demo')
    const { stdout, stderr } = await user(['password', 'sam', '--generate', '--one-time'])
    expect(stdout).to.match(/^([a-z2-9]{5}-){3}[a-z2-9]{5}\n$/)
    expect(stderr).to.not.include(stdout.trim())
    expect((await profile(body.access_token)).status).to.equal(401)
    expect((await signIn('sam@example.com', stdout.trim(), { newPassword: PASSWORD })).status).to.equal(200)
    expect((await signIn('sam@example.com', stdout.trim())).status).to.equal(401)
    expect((await signIn('sam@example.com', PASSWORD)).status).to.equal(200)
  })

  it('password asks twice on a terminal, which shows nothing of it', async () => {
    const changed = await typed(['password', 'bob'], PASSWORD, PASSWORD)
    expect([changed.code, changed.stdout]).to.deep.equal([
      0,
      'New password: \r\nAgain: \r\nbob has a new password; all earlier sessions have ended.\r\n',
    ])
    expect((await signIn('bob@example.com', PASSWORD)).status).to.equal(200)
    const differing = await typed(['password', 'bob'], 'one password', 'another password')
    expect(differing.code).to.equal(2)
    expect(differing.stdout)
      .to.include('sallyport: the two passwords differ, so nothing was changed')
      .and.not.include('another')
    expect((await signIn('bob@example.com', PASSWORD)).status).to.equal(200)
  })

  it('roles counts at once for a session that is open', async () => {
    const { body } = await signIn('alice@example.com', 'sallyport-demo')
    const list = () => server.ask('GET', '/api/users', { token: body.access_token })
    expect((await list()).status).to.equal(403)
    expect((await user(['roles', 'alice', '--role', 'support'])).stdout).to.equal('alice: member -> support\n')
    expect((await list()).status).to.equal(200)
    expect((await user(['roles', 'alice@example.com', '--none'])).stdout).to.equal('alice: support -> no role\n')
    expect((await list()).status).to.equal(403)
    const ada = await server.token('ada', 'admin')
    await server.ask('PATCH', '/api/users/alice', { token: ada, body: { roles: ['x\u001b[2J'] } })
    const { stdout } = await user(['roles', 'alice', '--role', 'member'])
    expect(stdout, 'nothing that a terminal obeys').to.equal('alice: x\\u{1b}[2J -> member\n')
  })

  it('disable refuses at once, whatever the credential; enable needs a new sign-in', async () => {
    const { body } = await signIn('ada@example.com', 'sallyport-demo')
    const plain = await server.token('ada', 'admin')
    expect((await user(['disable', 'ada@example.com'])).stdout).to.equal('ada is disabled.\n')
    for (const token of [body.access_token, plain]) expect((await profile(token)).status).to.equal(401)
    expect((await signIn('ada@example.com', 'sallyport-demo')).status).to.equal(401)
    expect((await user(['enable', 'ada'])).stdout).to.equal('ada is enabled.\n')
    expect((await profile(body.access_token)).status).to.equal(401)
    expect((await profile(plain)).status).to.equal(200)
    expect((await signIn('ada@example.com', 'sallyport-demo')).status).to.equal(200)
    const nobody = await user(['disable', 'ada@exmaple.com'])
    expect(nobody.stdout).to.equal('ada@exmaple.com is disabled; no user here has this id or e-mail address.\n')
  })

  it('list tells who there is, in the form that its schema says', async () => {
    const schema = JSON.parse(await readFile(join(ROOT, 'docs/schemas/user-list.schema.json'), 'utf8'))
    const validate = new Ajv2020({ formats: { ...fullFormats } }).compile(schema)
    const { stdout } = await user(['list', '--format', 'json'])
    expect(validate(JSON.parse(stdout)), JSON.stringify(validate.errors)).to.equal(true)
    expect(JSON.parse(stdout).users).to.deep.include({
      id: 'audrey',
      email: 'audrey@example.com',
      name: 'Audrey',
      roles: ['auditor'],
      state: 'active',
    })
    const text = (await user(['list'])).stdout
    expect(text).to.match(/^audrey +audrey@example.com +Audrey +auditor +active$/m)
    expect(validate({ users: [{ id: 1 }] })).to.equal(false)
  })

  it('what can not be done is told in one sentence', async () => {
    const cases = [
      [
        ['roles', 'alice', '--role', 'boss'],
        '',
        'the role `boss` is not declared in roles.yaml; choose from member, support, auditor, admin',
      ],
      [['roles', 'alice'], '', 'no roles are named: name them with --role, or remove all with --none'],
      [['add', '--email', 'alice@example.com', '--name', 'X'], '', 'another user has the email `alice@example.com`'],
      [
        ['add', '--email', 'x@example.com', '--name', 'X', '--id', 'alice'],
        '',
        'the id `alice` is taken; choose another one',
      ],
      [
        ['add', '--email', 'x', '--name', ''],
        '',
        'email must have the format `email`; displayName must not have fewer',
      ],
      [['password', 'nobody'], PASSWORD, 'no user has the id or e-mail address `nobody`'],
      [['password', 'alice'], 'too short', 'the password must have at least 12 characters'],
    ] as const
    for (const [args, input, told] of cases) {
      const { code, stdout, stderr } = await user(args, input)
      expect([code, stdout], args.join(' ')).to.deep.equal([2, ''])
      expect(stderr)
        .to.match(/^sallyport: [^\n]+\n$/)
        .and.include(told)
    }
  })
})
