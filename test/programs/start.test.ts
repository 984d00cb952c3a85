/** A program loads what it needs for its first answer; the rest comes when it is needed. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { removeFolder } from '../ends-with-tests.ts'

const OF_TOOLS = ['cli-progress', 'koa', 'jose', 'casbin', 'yaml', 'csv-parse']

const ROOT = new URL('../..', import.meta.url).pathname

describe('the start of a program', () => {
  let folder: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-start-'))
  })
  after(() => removeFolder(folder))

  it('of a server takes along what answers need, and nothing of commands or of what is not configured', async () => {
    const loaded = await packagesAt('listening', ['serve'])
    expect(loaded).to.include.members(['koa', 'casbin', 'jose', 'koa-body', 'prom-client', 'uuid'])
    for (const other of ['ioredis', 'cli-progress', 'kysely']) expect(loaded).not.to.include(other)
    // prom-client itself loads the API.
    expect(loaded.filter((name) => /^@opentelemetry\/(?!api$)/.test(name))).to.deep.equal([])
  })

  it('of a server takes along what its settings ask for', async () => {
    const env = { REDIS_URL: 'redis://127.0.0.1:1' }
    expect(await packagesAt('listening', ['serve'], env)).to.include('ioredis')
    const traced = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }
    expect(await packagesAt('listening', ['serve'], traced)).to.include.members(['@opentelemetry/sdk-trace'])
  })

  it('of a server leaves nothing for later: no answer waits for a file of the program', async () => {
    const modules = join(folder, 'modules-of-answers')
    const env = { ...process.env, MODULES: modules, DATA_DIR: join(folder, 'demo'), PORT: '0', ADMIN_PORT: '0' }
    const hook = join(ROOT, 'test/programs/list-modules.ts')
    const child = spawn(process.execPath, ['--import', hook, join(ROOT, 'bin/sallyport.js'), 'serve', '--demo'], {
      cwd: ROOT,
      env,
    })
    try {
      let said = ''
      for await (const text of child.stderr) {
        said += text
        if (said.includes('"listening"')) break
      }
      const { url, admin } = JSON.parse(said.split('\n').find((line) => line.includes('"listening"')) ?? '{}')
      const before = await readFile(modules, 'utf8')
      await askAll(url, admin)
      expect((await readFile(modules, 'utf8')).slice(before.length)).to.equal('')
    } finally {
      child.kill('SIGKILL')
    }
  })

  it('of a command takes along nothing of the others', async () => {
    expect(await packagesAt('', ['policy', 'replay', 'nowhere.log'])).to.include.members(['yaml', 'csv-parse'])
    for (const words of [
      ['policy', 'nonsense'],
      ['policy', '--help'],
      ['completion', 'bash', '--', 'policy', ''],
    ]) {
      const loaded = await packagesAt('', words)
      for (const tool of OF_TOOLS) expect(loaded, words.join(' ')).not.to.include(tool)
    }
    const loaded = await packagesAt('', ['policy', 'check', join(ROOT, 'policies')])
    for (const other of ['cli-progress', 'koa', 'jose', 'kysely']) expect(loaded).not.to.include(other)
    expect(await packagesAt('', ['--version'])).to.deep.equal(['commander'])
  })

  /** The packages that were loaded when it had written the words to standard error, or ended. */
  async function packagesAt(
    words: string,
    args: readonly string[],
    environment: Readonly<Record<string, string>> = {},
  ) {
    const MODULES = join(folder, `modules-${Math.random()}`)
    const hook = join(ROOT, 'test/programs/list-modules.ts')
    const env = { ...process.env, ...environment, MODULES, DATA_DIR: join(folder, 'data'), PORT: '0', ADMIN_PORT: '0' }
    const child = spawn(process.execPath, ['--import', hook, join(ROOT, 'bin/sallyport.js'), ...args], {
      cwd: ROOT,
      env,
    })
    const ended = once(child, 'exit')
    const told = new Promise<void>((resolve) => {
      child.stderr.on('data', (text: Buffer) => words !== '' && text.includes(words) && resolve())
    })
    await Promise.race([told, ended])
    const modules = await readFile(MODULES, 'utf8')
    child.kill('SIGKILL')
    await ended
    const found = modules.split('\n').map((url) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1])
    return [...new Set(found.filter((name) => name !== undefined))]
  }
})

/** Every kind of answer, each as expected. */
async function askAll(url: string, admin: string): Promise<void> {
  const ask = async (
    status: number,
    method: string,
    path: string,
    { body, type = 'application/json', token = '' } = ANY,
  ) => {
    const response = await fetch(path.startsWith('http') ? path : url + path, {
      method,
      headers: {
        ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': type }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    expect(response.status, `${method} ${path}: ${text}`).to.equal(status)
    return text === '' ? {} : JSON.parse(text.startsWith('{') ? text : '{}')
  }
  for (const path of ['/livez', '/readyz', '/openapi.json', `${admin}/metrics`]) await ask(200, 'GET', path)
  await ask(404, 'GET', '/nowhere')
  await ask(401, 'GET', '/api/v1/notes')
  const signIn = { email: 'alice@example.com', password: 'sallyport-demo' }
  const { refresh_token } = await ask(200, 'POST', '/api/tokens', { body: signIn })
  const refresh = { refresh_token }
  const { access_token: token } = await ask(200, 'POST', '/api/tokens', { body: refresh })
  await ask(200, 'GET', '/openapi.json', { token })
  const { id } = await ask(201, 'POST', '/api/v1/notes', { token, body: { title: 't' } })
  await ask(400, 'POST', '/api/v1/notes', { token, body: { title: 1 } })
  const note = `/api/v1/notes/${id}`
  await ask(200, 'GET', '/api/v1/notes?limit=1&count=exact&sort=-createdAt', { token })
  await ask(200, 'PATCH', note, { token, body: { title: 'u' }, type: 'application/merge-patch+json' })
  const patch = [{ op: 'replace', path: '/title', value: 'v' }]
  await ask(200, 'PATCH', note, { token, body: patch, type: 'application/json-patch+json' })
  await ask(200, 'PUT', note, { token, body: { title: 'w' } })
  await ask(204, 'DELETE', note, { token })
  await ask(204, 'DELETE', '/api/tokens/current', { token })
}

const ANY: { readonly body?: unknown; readonly type?: string; readonly token?: string } = {}
