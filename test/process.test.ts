/** The program as its users start it: processes, exit codes, what is printed, and signals. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdtemp, readFile, rename, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { type Ended, LAUNCHER, ROOT, sallyport, startSallyport } from './command.ts'
import { requestLines } from './decision-log/request-lines.ts'
import { endNow, removeFolder } from './ends-with-tests.ts'
import { program } from './programs.ts'
import { freePort } from './redis.ts'

let folder: string
let env: NodeJS.ProcessEnv
const children: ChildProcess[] = []

async function newPlace(): Promise<void> {
  folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
  env = { ...process.env, DATA_DIR: join(folder, 'data'), PORT: String(await freePort()), ADMIN_PORT: '0' }
}

async function leavePlace(): Promise<void> {
  for (const child of children.splice(0)) await endNow(child)
  await removeFolder(folder)
}

describe('the program, serving the demo', () => {
  let demo: Awaited<ReturnType<typeof start>>

  before(async () => {
    program('curl')
    await newPlace()
    demo = await start(['serve', '--demo'])
  })
  after(leavePlace)

  it('prints names, one request and no token; what it prints works as printed', async () => {
    expect(demo.printed()).to.contain('alice (member), bob (member), sam (support), audrey (auditor), ada (admin)')
    expect(demo.printed()).not.to.match(/eyJ/)
    const linesWith = (text: string) =>
      demo
        .printed()
        .split('\n')
        .filter((line) => line.includes(text))
    const [request = '', ...requests] = linesWith('curl ')
    expect(requests).to.deep.equal([])
    // Whoever types them has another environment than the server.
    const { DATA_DIR: _, ...theirs } = env
    const titles = JSON.parse(await shell(request, theirs)).items.map(({ ownerId }: { ownerId: string }) => ownerId)
    expect(titles).to.deep.equal(['alice', 'alice'])
    const commands = linesWith(' token --subject ').filter((line) => line !== request)
    const tokens = await Promise.all(commands.map((line) => shell(line, theirs)))
    const profiles = await Promise.all(tokens.map((token) => get('/profile', token.trim())))
    expect(profiles.map((profile) => (profile as { id: string }).id)).to.deep.equal(['bob', 'sam', 'audrey', 'ada'])
  })

  it('lets every demo caller sign in with the password that it prints, and gives data as semantics.md asks', async () => {
    const [, domain = '', password = ''] = /<name>@(\S+) with the password (\S+)\.\n/.exec(demo.printed()) ?? []
    for (const [id, least] of [
      ['alice', 2],
      ['bob', 2],
      ['sam', 1],
      ['ada', 1],
      ['audrey', 0],
    ] as const) {
      const token = await signIn(`${id}@${domain}`, password)
      const own = async (path: string, field: string) => {
        const { items } = (await get(path, token)) as { items: Record<string, string>[] }
        return items.filter((item) => item[field] === id)
      }
      expect(await get('/profile', token)).to.include({ id })
      expect(await own('/api/v1/notes', 'ownerId')).to.have.length.at.least(least)
      const statuses = (await own('/api/orders', 'customerId')).map(({ status }) => status)
      expect(statuses)
        .to.include.members(least > 0 ? ['draft'] : [])
        .and.have.length.at.least(least)
      if (least === 2) expect(await own('/api/accounts', 'userId')).to.have.length.at.least(1)
    }
  })

  it('keeps another server off its ports, which names the variable', async () => {
    const second = { DATA_DIR: join(folder, 'second') }
    await refuses(['serve'], /^sallyport: PORT \d+ .*EADDRINUSE/, second)
    const free = { ADMIN_PORT: env.PORT, PORT: String(await freePort()) }
    await refuses(['serve'], /sallyport: ADMIN_PORT \d+ .*EADDRINUSE/, { ...second, ...free })
  })

  it('keeps its data over a restart, does not make the demo anew, and exits with 0 on SIGTERM', async () => {
    const token = (await run(['token', '--subject', 'alice', '--role', 'member'])).stdout.trim()
    const before = await get('/api/v1/notes', token)
    demo.child.kill('SIGKILL')
    await demo.ended
    const { child, ended } = await start(['serve', '--demo'])
    expect(await get('/api/v1/notes', token)).to.deep.equal(before)
    child.kill('SIGTERM')
    expect((await ended).code).to.equal(0)
    await refuses(['serve'], /demo callers.*--demo/)
  })
})

describe('the program', () => {
  beforeEach(newPlace)
  afterEach(leavePlace)

  it('prints a token, and nothing else, on stdout, and serves no real data with --demo', async () => {
    const { child, ended } = await start(['serve'])
    const { code, stdout } = await run(['token', '--subject', 'carol', '--role', 'member', '--role', 'auditor'])
    expect(code).to.equal(0)
    expect(stdout).to.match(/^[\w-]+\.[\w-]+\.[\w-]+\n$/)
    const [, payload = ''] = stdout.split('.')
    expect(JSON.parse(Buffer.from(payload, 'base64url').toString())).to.deep.include({
      sub: 'carol',
      roles: ['member', 'auditor'],
    })
    expect(await get('/api/v1/notes', stdout.trim())).to.deep.equal({ items: [], next: null })
    const carol = ['token', '--subject', 'carol', '--role', 'member']
    const other = await run([...carol, 'Admin'])
    expect([other.code, other.stdout.split('.').length]).to.deep.equal([0, 3])
    const undeclared = 'sallyport: roles.yaml of policies declares no role `Admin`, so it grants nothing'
    expect(other.stderr).to.equal(`${undeclared}; did you mean \`admin\`?\n`)
    expect((await run(carol)).stderr).to.equal('')
    expect((await run(carol, { POLICIES: join(folder, 'absent') })).stderr).to.equal('')
    child.kill('SIGTERM')
    await ended
    await refuses(['serve', '--demo'], /data of its own/)
  })

  it('says in one line that Node is too old', async () => {
    const old = 'data:text/javascript,Object.defineProperty(process,"versions",{value:{node:"20.20.2"}})'
    const { code, stderr, stdout } = await execute(process.execPath, ['--import', old, LAUNCHER, 'serve'])
    expect([code, stdout]).to.deep.equal([2, ''])
    expect(stderr).to.equal(
      'sallyport: Node 20.20.2 is too old, Node 24 or newer is needed: run `npm install node@24`\n',
    )
  })

  // test/config.test.ts has the others; here stand one of each kind of error, and one that is found later.
  for (const [name, value] of [
    ['DATABASE_URL', 'postgres://user:secret@db/x'],
    ['JWT_ALGORITHMS', 'EdDSA,none'],
  ] as const) {
    it(`refuses to start with ${name}=${value}, naming ${name} and no secret`, async () => {
      env[name] = value
      const stderr = await refuses(['serve'], new RegExp(`^sallyport: .*${name}`))
      expect(stderr).to.not.include('secret')
    })
  }

  it('refuses a policy that is faulty, with file, line and column', async () => {
    env.POLICIES = join(folder, 'policies')
    await cp(join(ROOT, 'policies'), env.POLICIES, { recursive: true })
    await writeFile(join(env.POLICIES, 'policy.csv'), '# one\np, member, notes, read, owner, *, Deny\n')
    await refuses(['serve'], /policies\/policy\.csv:2:35: `Deny` is not an effect/)
  })

  it('refuses a schema that is faulty, with file, line and column', async () => {
    env.SCHEMAS = join(folder, 'schemas')
    await cp(join(ROOT, 'schemas'), env.SCHEMAS, { recursive: true })
    await writeFile(join(env.SCHEMAS, 'broken.json'), '{\n  "type": "object",\n}\n')
    await refuses(['serve'], /schemas\/broken\.json:3:1: /)
  })

  it('refuses a data folder that is none, naming the variable', async () => {
    await writeFile(join(folder, 'file'), '')
    await refuses(
      ['serve'],
      /DATA_DIR is `\S+`, which can't be used by user \d+ \(a file is in the place of a folder\); set it to a writable folder/,
      { DATA_DIR: join(folder, 'file/data') },
    )
    for (const place of ['file', 'file/data']) {
      env.DATA_DIR = join(folder, place)
      await refuses(['token', '--subject', 'x'], /there is no database .*sallyport.db`; start the server once/)
    }
  })

  it('tells what the shipped policy says, without a server', async () => {
    expect(await run(['policy', 'check'])).to.deep.equal({
      code: 0,
      stdout: '2 guarantees proven, in 2 cells\n\nnothing found (1 suppressed)\n',
      stderr: '',
    })
    const diff = await run(['policy', 'diff', 'policies', 'policies', '--fail-on', 'any'])
    expect(diff.code).to.equal(0)
    expect(diff.stdout).to.match(/equivalent/)
    const explained = await run(['policy', 'explain', '--role', 'auditor', 'DELETE', '/api/v1/notes/1'])
    expect(explained.code).to.equal(0)
    expect(explained.stdout).to.match(/^DENY .*\/api\/v1\/notes\/1: .*403/)
    const matrix = await run(['policy', 'matrix', '--role', 'support', '--format', 'csv'])
    expect(matrix.code).to.equal(0)
    expect(matrix.stdout).to.match(/support/)
  })

  it('exits with 2, in one sentence, where a policy command could not run', async () => {
    await refuses(['policy', 'check', 'nowhere'], /nowhere/)
    await refuses(['policy', 'diff', 'policies', 'no-such-revision'], /no-such-revision/)
    await refuses(['policy', 'explain', 'GET', '/livez', '--relation', 'friend'], /friend|relation/)
    await refuses(['policy', 'matrix', '--resource', 'tickets'], /tickets/)
    await refuses(['policy', 'matrix', '--format', 'pdf'], /pdf/)
    await refuses(['policy', 'shred'], /unknown command/)
    await refuses(['policy', 'matrix', '--policies', 'README.md'], /^sallyport: README.md is not a directory.*\n$/)
    const hostile = await refuses(['policy', 'matrix', '--resource', 'a\u001b[31mb'], /u\{1b\}/)
    expect(hostile).to.not.include('\u001b')
  })

  it('says in one line that its output could not be written, and nothing when the reader has left', async () => {
    const command = `${process.execPath} ${LAUNCHER} policy matrix --format csv`
    const full = await execute('sh', ['-c', `${command} > /dev/full`])
    expect([full.code, full.stderr]).to.deep.equal([
      2,
      "sallyport: the output can't be written (no space left on device); write it to another place\n",
    ])
    const left = await execute('sh', ['-c', `${command} --role member | head -1`])
    expect([left.code, left.stderr]).to.deep.equal([0, ''])
  })

  it('exits with 2 for what it does not understand', async () => {
    await refuses(['serve', '--prot', '1'], /unknown option/)
    const { code, stderr } = await startSallyport(['frobnicate'], { env })
    expect([code, stderr]).to.satisfy(() => code === 2 && /unknown command/.test(stderr))
    await refuses(['token'], /--subject/)
    await refuses(['token', '--subject', 'user:x'], /subject/)
    await refuses(['token', '--subject', 'x', '--expires', 'soon'], /whole number and a unit/)
    expect((await run(['--help'])).code).to.equal(0)
  })

  it('goes on in a new decision log when the old one was moved away and SIGHUP came', async () => {
    const { child } = await start(['serve'])
    const log = join(folder, 'data/decisions.log')
    const ask = (path: string) => fetch(`http://127.0.0.1:${env.PORT}${path}`)
    const routes = (text: string) => requestLines(text).map((line) => JSON.parse(line).route)
    await ask('/livez')
    while (!(await readFile(log, 'utf8')).includes('/livez')) await tick()
    await rename(log, `${log}.moved`)
    await ask('/readyz')
    while (!(await readFile(`${log}.moved`, 'utf8')).includes('/readyz')) await tick()
    child.kill('SIGHUP')
    while (!existsSync(log)) await tick()
    await ask('/openapi.json')
    while (!(await readFile(log, 'utf8')).endsWith('\n')) await tick()
    expect(routes(await readFile(`${log}.moved`, 'utf8'))).to.deep.equal(['/livez', '/readyz'])
    expect(routes(await readFile(log, 'utf8'))).to.deep.equal(['/openapi.json'])
  })

  it('is not ended by a standard output that takes nothing, and says which password is lost', async () => {
    const serve = `exec ${process.execPath} ${LAUNCHER} serve > /dev/full`
    const child = spawn('sh', ['-c', serve], { cwd: ROOT, env })
    children.push(child)
    let told = ''
    for await (const text of child.stderr) {
      told += text
      if (told.includes('standard output can not be written')) break
    }
    expect(told).to.contain('ENOSPC').and.to.contain('There was no user yet, so Sallyport made one')
    expect(told).not.to.match(/\w{5}-\w{5}-\w{5}-\w{5}/)
    expect((await fetch(`http://127.0.0.1:${env.PORT}/livez`)).status).to.equal(200)
  })

  it('is not ended by a SIGHUP, whichever of its modules is being loaded when it comes', async () => {
    const hook = join(ROOT, 'test/programs/hang-up.ts')
    const child = spawn(process.execPath, ['--import', hook, LAUNCHER, 'serve'], { cwd: ROOT, env })
    children.push(child)
    let told = ''
    for await (const text of child.stderr) {
      told += text
      if (told.includes('"msg":"listening"')) return
    }
    throw new Error(`ended by ${child.signalCode}: ${told}`)
  })

  it('is not ended by a SIGHUP that comes while it starts', async () => {
    const child = spawn(process.execPath, [LAUNCHER, 'serve'], { cwd: ROOT, env })
    children.push(child)
    while (!existsSync(join(folder, 'data'))) await tick()
    child.kill('SIGHUP')
    let told = ''
    for await (const text of child.stderr) {
      told += text
      if (told.includes('decision log reopened')) break
    }
    expect(told).to.contain('"msg":"listening"').and.to.contain('decision log reopened')
  })
})

async function start(args: readonly string[]) {
  const child = spawn(process.execPath, [LAUNCHER, ...args], { cwd: ROOT, env })
  children.push(child)
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk) => {
    stdout += chunk
  })
  const ended = new Promise<Ended>((resolve) =>
    child.on('close', (code) => resolve({ code: Number(code ?? 1), stdout, stderr })),
  )
  const listening = new Promise<void>((resolve) => {
    child.stderr.on('data', (chunk) => {
      stderr += chunk
      if (stderr.includes('"msg":"listening"')) resolve()
    })
  })
  const early = await Promise.race([listening, ended])
  if (early) throw new Error(`the server ended at once: ${early.stderr}`)
  // What it prints comes right after it listens.
  while (args.includes('--demo') && !stdout.includes('with the password')) await tick()
  return { child, ended, printed: () => stdout }
}

async function refuses(args: readonly string[], message: RegExp, more: NodeJS.ProcessEnv = {}): Promise<string> {
  const { code, stdout, stderr } = await run(args, more)
  expect([code, stdout]).to.deep.equal([2, ''])
  expect(stderr).to.match(message)
  expect(stderr).to.not.match(/\n\s+at /)
  return stderr
}

/** A server is a process of its own. */
function run(args: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<Ended> {
  const place = { cwd: ROOT, env: { ...env, ...more } }
  return args[0] === 'serve' ? startSallyport(args, place) : sallyport(args, place)
}

function execute(command: string, args: readonly string[], given = env): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(command, [...args], { cwd: ROOT, env: given }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr })
    })
  })
}

async function shell(line: string, given: NodeJS.ProcessEnv): Promise<string> {
  const { code, stdout, stderr } = await execute('sh', ['-c', line], given)
  if (code !== 0) throw new Error(`exit ${code}: ${stderr}`)
  return stdout
}

async function signIn(email: string, password: string): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${env.PORT}/api/tokens`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password }),
  })
  return ((await response.json()) as { access_token: string }).access_token
}

async function get(path: string, token: string): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${env.PORT}${path}`, {
    headers: { authorization: `Bearer ${token}` },
  })
  return response.json()
}

function tick(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 10)
  })
}
