/** What all commands share: results as JSON of a promised shape, former names, colours, completion, errors of one line. */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { type Ended, LAUNCHER, ROOT, sallyport } from '../command.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { startTestServer, type TestServer } from '../server.ts'

describe('the command line', () => {
  let server: TestServer
  let bin: string

  before(async () => {
    server = await startTestServer({ demo: true })
    bin = await mkdtemp(join(tmpdir(), 'sallyport-bin-'))
    await writeFile(join(bin, 'sallyport'), `#!/bin/sh\nexec '${process.execPath}' '${LAUNCHER}' "$@"\n`, {
      mode: 0o755,
    })
  })
  after(async () => {
    await server.stop()
    await removeFolder(bin)
  })

  const environment = () => ({ DATA_DIR: join(server.folder, 'data'), POLICIES: join(server.folder, 'policies') })
  const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    execute(process.execPath, [LAUNCHER, ...args], { ...environment(), ...env })

  async function json(name: string, args: readonly string[]) {
    const { code, stdout, stderr } = await sallyport([...args, '--format', 'json'], { env: environment() })
    expect(code, stderr).to.equal(0)
    const schema = JSON.parse(await readFile(join(ROOT, `docs/schemas/${name}.schema.json`), 'utf8'))
    const validate = new Ajv2020({ formats: { 'date-time': true } }).compile(schema)
    const result = JSON.parse(stdout)
    expect(validate(result), `${name}: ${JSON.stringify(validate.errors)}`).to.equal(true)
    expect(validate({ ...result, more: 1 }), 'a member more').to.equal(false)
    return result
  }

  it('prints each result as JSON of the shape that docs/schemas promises', async () => {
    const token = await json('token', ['token', '--subject', 'robot', '--role', 'auditor', '--expires', '10m'])
    expect(token).to.deep.include({ subject: 'robot', roles: ['auditor'], lifetimeSeconds: 600 })
    const key = ['--subject', 'robot', '--role', 'auditor', '--expires', '1d', '--name', 'report']
    const { id, key: secret } = await json('key-add', ['key', 'add', ...key])
    expect(secret).to.match(new RegExp(`^sp_${id}_`))
    expect(await json('key-revoke', ['key', 'revoke', id])).to.deep.equal({ id, state: 'revoked' })
    const zoe = ['--email', 'zoe@example.com', '--name', 'Zoe', '--id', 'zoe', '--role', 'member']
    await json('user-add', ['user', 'add', ...zoe])
    const { password } = await json('user-password', ['user', 'password', 'zoe', '--generate', '--one-time'])
    expect(password).to.have.length.greaterThan(10)
    expect(await json('user-roles', ['user', 'roles', 'zoe', '--none'])).to.deep.equal({
      id: 'zoe',
      before: ['member'],
      roles: [],
    })
    expect(await json('user-standing', ['user', 'disable', 'zoe'])).to.deep.equal({ subject: 'zoe', disabled: true })
    expect(await json('user-standing', ['user', 'enable', 'zoe'])).to.deep.equal({ subject: 'zoe', disabled: false })
    const blocked = { user: 'user:zoe', blocked: true, changed: true }
    expect(await json('policy-block', ['policy', 'block', 'user:zoe'])).to.deep.equal(blocked)
    expect(await json('policy-block', ['policy', 'block', 'user:zoe'])).to.deep.equal({ ...blocked, changed: false })
    const unblocked = await json('policy-block', ['policy', 'unblock', 'user:zoe'])
    expect(unblocked).to.deep.equal({ ...blocked, blocked: false })
    const { files } = await json('matrix-init', ['matrix', 'init', '--out', join(bin, 'matrix')])
    expect(files).to.include(join(bin, 'matrix', 'orders.csv'))
    const { matrices } = await json('matrix-show', ['matrix', 'show', join(bin, 'matrix')])
    expect(matrices[0].rows[0].slice(0, 3)).to.deep.equal(['method', 'path', 'object'])
    const request = ['GET', '/api/orders/{id}', '--role', 'support', '--matrices', join(bin, 'matrix')]
    const { cells } = await json('matrix-find', ['matrix', 'find', ...request])
    expect(cells.map(({ cell }: { cell: { column: string } }) => cell.column)).to.include('support')
    const named = await json('policy-names', ['policy', 'names', join(server.folder, 'policies/roles.yaml:1:1')])
    expect(named.names).to.deep.equal([])
    await json('signing-keys-list', ['signing-keys', 'list'])
    const { kid, older } = await json('signing-keys-rotate', ['signing-keys', 'rotate'])
    expect(older).to.have.length(1)
    const atOnce = await json('signing-keys-rotate', ['signing-keys', 'rotate', '--at-once'])
    expect(atOnce.older.map((one: { kid: string }) => one.kid)).to.include(kid)
  })

  it('takes the former name of signing-keys', async () => {
    const [former, now] = await Promise.all([run(['keys', 'list']), run(['signing-keys', 'list'])])
    expect(former).to.deep.equal(now)
    const help = await run(['help', 'keys', 'list'])
    expect(help.stdout).to.include('Usage: sallyport signing-keys list')
    expect((await run(['--help'])).stdout).to.not.match(/^ {2}keys /m)
  })

  it('has colours where a terminal shows them, and none in JSON, in a pipe or with NO_COLOR', async () => {
    const colour = (args: readonly string[], env: Readonly<Record<string, string>>) =>
      run(args, env).then(({ stdout }) => stdout.includes('\u001b['))
    for (const args of [
      ['policy', '--help'],
      ['policy', 'explain', 'GET', '/api/orders'],
    ]) {
      expect(await colour(args, { FORCE_COLOR: '1' }), args.join(' ')).to.equal(true)
      expect(await colour(args, {}), args.join(' ')).to.equal(false)
      expect(await colour(args, { FORCE_COLOR: '0', NO_COLOR: '1' }), args.join(' ')).to.equal(false)
    }
    expect(
      await colour(['policy', 'explain', 'GET', '/api/orders', '--format', 'json'], { FORCE_COLOR: '1' }),
    ).to.equal(false)
  })

  it('says what is wrong with a command line in one sentence', async () => {
    const sentence = async (...args: readonly string[]) => {
      const { code, stdout, stderr } = await run(args)
      expect([code, stdout]).to.deep.equal([2, ''])
      return stderr
    }
    expect(await sentence('polcy')).to.equal("sallyport: unknown command 'polcy'; did you mean policy?\n")
    expect(await sentence('serve', '--prot', '1')).to.equal(
      "sallyport: unknown option '--prot'; did you mean --port?\n",
    )
    expect(await sentence('token')).to.equal("sallyport: required option '--subject <id>' not specified\n")
  })

  it('completes commands, options and their values in bash', async () => {
    const complete = (...words: readonly string[]) => {
      const line = words.map((word) => `'${word}'`).join(' ')
      const script = `source <(sallyport completion bash)
        COMP_WORDS=(sallyport ${line}) COMP_CWORD=${words.length}; _sallyport; printf '%s\\n' "\${COMPREPLY[@]}"`
      return execute('bash', ['-c', script], { PATH: `${bin}:${process.env.PATH}` }).then(({ stdout }) =>
        stdout.trim().split('\n'),
      )
    }
    expect(await complete('s')).to.deep.equal(['serve', 'schema', 'signing-keys'])
    expect(await complete('policy', 'r')).to.deep.equal(['replay', 'rollback', 'review', 'reject', 'review-glass'])
    expect(await complete('policy', 'check', '--fa')).to.deep.equal(['--fail-on'])
    expect(await complete('policy', 'check', '--fail-on', '')).to.deep.equal(['error', 'warning'])
    expect(await complete('completion', '')).to.deep.equal(['bash', 'zsh', 'fish'])
    // Then bash offers files.
    expect(await complete('policy', 'check', '')).to.deep.equal([''])
  })

  it('tells zsh and fish what each word means', async () => {
    const zsh = await run(['completion', 'zsh', '--', 'token', '--r'])
    expect(zsh.stdout).to.equal('--role:a role that the token claims; repeat for more\n')
    const fish = await run(['completion', 'fish', '--', 'key', 're'])
    expect(fish.stdout).to.match(/^revoke\trevoke an API key/)
    for (const shell of ['zsh', 'fish']) {
      expect((await run(['completion', shell])).stdout).to.include(`sallyport completion ${shell} --`)
    }
  })
})

function execute(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<Ended> {
  const { NO_COLOR: _, FORCE_COLOR: __, ...rest } = process.env
  return new Promise((resolve) => {
    execFile(program, args, { cwd: ROOT, env: { ...rest, ...env } }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr })
    })
  })
}
