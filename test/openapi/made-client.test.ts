/** `sallyport client`: the file compiles, says no to what the API has not, and keeps the promises of HTTP by itself. */

import { execFile } from 'node:child_process'
import { mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises'
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { makeFolder } from '../../src/base/files/make-folder.ts'
import { BATCHING } from '../batch/batch-world.ts'
import { ROOT, sallyport } from '../command.ts'
import { errorLines, expectedLines } from '../compile-errors.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { withRules } from '../policy-text.ts'
import { startTestServer, type TestServer } from '../server.ts'

const CALLS = 'made-client.ts'
const GENERATED = join(ROOT, 'examples/typescript-client/generated')
const SHIPPED = ['--policies', join(ROOT, 'policies'), '--schemas', join(ROOT, 'schemas')]

/** The shipped command with the body of docs/commands.md. */
async function placeOrder(): Promise<string> {
  const [page, shipped] = await Promise.all(
    ['docs/commands.md', 'schemas/commands/place-order.json'].map((file) => readFile(join(ROOT, file), 'utf8')),
  )
  const body = /^```json\n("input": .*?)^```/ms.exec(page ?? '')?.[1]
  return JSON.stringify({ ...JSON.parse(shipped ?? ''), ...JSON.parse(`{${body}}`) })
}

/** It may be run again, so that a repeat gets past the rules. */
const ANNOUNCE = {
  resource: 'orders',
  path: '/api/orders/{id}/announce',
  action: 'announce',
  grants: 'steps',
  input: { type: 'object', properties: { note: { type: 'string', maxLength: 50 } }, additionalProperties: false },
  set: { note: { input: 'note' } },
  create: [
    {
      resource: 'notes',
      set: { ownerId: { object: 'customerId' }, title: { value: 'Announced' }, body: { input: 'note' } },
    },
  ],
}

// biome-ignore lint/suspicious/noExplicitAny: its types are there only when this test has made the clients
type Calls = any

describe('a client that `sallyport client` made', () => {
  let calls: Calls
  let server: TestServer
  let alice: string

  before(async () => {
    const rule = `p, member, orders, place, owner+draft>placed, *, allow
p, member, orders, announce, owner, *, allow`
    const policy = withRules(BATCHING['policies/policy.csv'], rule)
    const commands = {
      'policies/policy.csv': policy,
      'schemas/commands/place-order.json': await placeOrder(),
      'schemas/commands/announce.json': JSON.stringify(ANNOUNCE),
    }
    server = await startTestServer({ demo: true, files: { ...BATCHING, ...commands } })
    alice = await server.token('alice', 'member')
    const referring = ['--policies', join(server.folder, 'policies'), '--schemas', join(server.folder, 'schemas')]
    for (const [name, places] of [
      ['made.ts', SHIPPED],
      ['referring.ts', referring],
      ['narrow.ts', [...SHIPPED, '--role', 'anonymous']],
    ] as const) {
      const { code, stderr } = await sallyport(['client', '--out', join(GENERATED, name), ...places])
      expect(code, stderr).to.equal(0)
    }
    calls = await import(new URL(`../compile/${CALLS}`, import.meta.url).href)
  })
  after(() => server.stop())

  const connect = (url = server.url, token: string | (() => Promise<string>) = alice) => calls.connect({ url, token })

  it('compiles, and refuses what the API has not', async () => {
    expect(expectedLines(CALLS)).to.have.length(21)
    expect(await errorLines(CALLS)).to.deep.equal(expectedLines(CALLS))
  })

  it('has nothing unused, even where a caller may do next to nothing', async () => {
    const strict = ['--ignoreConfig', '--noEmit', '--strict', '--noUnusedLocals', '--noUnusedParameters']
    const options = [...strict, '--exactOptionalPropertyTypes', '--module', 'nodenext', '--types', 'node']
    const run = promisify(execFile)
    await run(join(ROOT, 'node_modules/.bin/tsc'), [...options, 'narrow.ts', 'made.ts'], { cwd: GENERATED })
  })

  it('reads all pages of a list', async () => {
    const asked: string[] = []
    const counting: typeof fetch = (one) => {
      asked.push((one as Request).url)
      return fetch(one)
    }
    const token = await server.token('bob', 'member')
    const titles = await calls.readAll(calls.connect({ url: server.url, token, fetch: counting }))
    expect(titles.slice(-5)).to.deep.equal(['a', 'b', 'c', 'd', 'e'])
    expect(asked.filter((url) => url.includes('limit=2'))).to.have.length(Math.ceil(titles.length / 2))
    expect(titles.length).to.be.within(5, 20)
  })

  it('loses no update: a write names the state that was read, and another state is a typed 412', async () => {
    expect(await calls.loseAnUpdate(connect())).to.deep.equal({
      status: 412,
      code: 'precondition-failed',
      attempts: 1,
      kept: 'third',
      can: ['read', 'replace', 'update', 'delete'],
      replaced: 'third, replaced',
    })
    expect(await calls.ownProfile(connect())).to.deep.equal(['new', true])
    const note = await connect().notes.create({ title: 't' })
    const copied = { ...note }
    expect(await rejection(connect().notes.update(copied, {}))).to.include('read it with `get`')
    expect((await connect().notes.update(copied.id, { title: 'u' })).title).to.equal('u')
  })

  it('throws what the server refuses, with its code, its fields and the id in the log', async () => {
    const forbidden = await calls.problemOf(connect().accounts.create({ ownerId: 'alice', currency: 'EUR' } as never))
    expect(forbidden).to.include({ name: 'ApiProblem', status: 403, code: 'forbidden', attempts: 1 })
    const record = await server.lastDecision({ requestId: forbidden?.requestId })
    expect(record).to.include({ outcome: 'refused', status: 403 })
    const invalid = await calls.problemOf(connect().notes.create({ title: '', tags: ['x', 'x'] }))
    expect(invalid?.errors.map(({ pointer }: { pointer: string }) => pointer)).to.deep.equal(['/title', '/tags'])
  })

  it('knows collections under a parent, objects beside a row, sums and batches', async () => {
    const token = await server.token('carol', 'member')
    expect(await calls.inAWorldOfReferences(server.url, token)).to.deep.equal({
      expanded: [true],
      groups: [{ count: 1 }],
      total: 1,
      statuses: [201, 200],
      undone: 'object-not-found',
      parts: [424, 404],
    })
  })

  it('runs commands by their names, on an object or its id', async () => {
    const token = await server.token('erin', 'member')
    expect(await calls.placeAnOrder(server.url, token)).to.deep.equal(['placed', 'soon', 'forbidden'])
  })

  it('runs a command once when its answer is lost, compares its object, and makes what it creates once', async () => {
    const token = await server.token('frank', 'member')
    const lossy = await losesFirstAnswers(server.url)
    try {
      expect(await calls.announceAnOrder(server.url, lossy.url, token)).to.deep.equal({
        answers: [true, 'lost', 'once', true],
        refused: ['precondition-failed', 'idempotency-key-reused'],
        forced: 'forced',
        notes: ['forced', 'lost', 'once'],
      })
      expect(lossy.lost()).to.deep.equal(['POST 200'])
    } finally {
      await lossy.stop()
    }
  })

  it('makes one object, and changes nothing twice, when answers are lost', async () => {
    const dan = await server.token('dan', 'member')
    const lossy = await losesFirstAnswers(server.url)
    try {
      const api = connect(lossy.url, dan)
      const made = await api.notes.create({ title: 'once' })
      expect(lossy.lost()).to.deep.equal(['POST 201'])
      expect(await titles(connect(server.url, dan))).to.deep.equal(['once'])
      const late = await calls.problemOf(api.notes.update(made, { title: 'changed' }))
      expect(late).to.include({ code: 'precondition-failed', attempts: 2 })
      // Without a tag, a second one could undo what others have written since.
      expect(await rejection(api.notes.update(made.id, { title: 'blindly' }))).to.include('fetch failed')
      expect(lossy.lost()).to.deep.equal(['POST 201', 'PATCH 200', 'PATCH 200'])
      expect((await api.notes.get(made.id)).title).to.equal('blindly')
    } finally {
      await lossy.stop()
    }
  })

  it('waits as the server says, repeats what is safe to repeat, and gives up', async () => {
    const busy = await answersAfter(2)
    try {
      const tokens: string[] = []
      const api = connect(busy.url, async () => `t${tokens.push('')}`)
      const status = async (work: Promise<unknown>) => (await calls.problemOf(work))?.status ?? 200
      const etag = { ifMatch: '"a"' }
      expect([
        await status(api.notes.get('429')),
        await status(api.notes.update('429', {})),
        await status(api.notes.update('503', {})),
        await status(api.notes.update('503', {}, etag)),
        await status(api.notes.replace('502', { title: 't' })),
        await status(api.notes.delete('409')),
        await status(api.notes.get('500')),
        await status(api.notes.get('wait')),
        await status(calls.connect({ url: busy.url, attempts: 2 }).notes.get('503')),
      ]).to.deep.equal([200, 200, 503, 200, 200, 200, 500, 503, 503])
      expect(busy.tokens().slice(0, 3)).to.deep.equal(['Bearer t1', 'Bearer t2', 'Bearer t3'])
      const keys = (one: string) => busy.keys().filter((key) => key.startsWith(one))
      await status(api.notes.create({ title: '503' }))
      expect(keys('POST')).to.have.length(3)
      expect(new Set(keys('POST')).size).to.equal(1)
      // The server keeps no key for a caller that it doesn't know.
      expect(await status(calls.connect({ url: busy.url }).notes.create({ title: '503' }))).to.equal(503)
    } finally {
      await busy.stop()
    }
  })

  it('asks once for another token for one that is refused, and for no other reason', async () => {
    let code = 'token-expired'
    const sent: unknown[] = []
    const refusing = await listening(
      createServer((asked, answer) => {
        sent.push(asked.headers.authorization)
        const problem = { status: 401, code, detail: 'no', instance: 'urn:uuid:1', title: 't', type: 'about:blank' }
        answer.writeHead(401, { 'Content-Type': 'application/problem+json' }).end(JSON.stringify(problem))
      }),
    )
    let count = 0
    const token = async (refused?: string) => `${refused ?? 't'}${refused ? ++count : ''}`
    const ask = async (options: object) => {
      sent.length = 0
      const problem = await calls.problemOf(
        calls.connect({ url: refusing.url, ...options }).notes.create({ title: 't' }),
      )
      return [problem?.code, problem?.attempts, ...sent]
    }
    try {
      expect(await ask({ token })).to.deep.equal(['token-expired', 2, 'Bearer t', 'Bearer t1'])
      expect(await ask({ token, attempts: 1 })).to.deep.equal(['token-expired', 2, 'Bearer t', 'Bearer t2'])
      expect(await ask({ token: 't' })).to.deep.equal(['token-expired', 1, 'Bearer t'])
      expect(await ask({ token: () => 't' })).to.deep.equal(['token-expired', 1, 'Bearer t'])
      for (code of ['step-up-required', 'credentials-missing'])
        expect(await ask({ token })).to.deep.equal([code, 1, 'Bearer t'])
      code = 'token-invalid'
      const failures = ['first', 'second']
      const failing = (refused?: string) => {
        if (refused !== undefined) throw new Error(failures.shift())
        return 't'
      }
      const { notes } = calls.connect({ url: refusing.url, token: failing })
      for (const failure of ['first', 'second']) expect(await rejection(notes.get('1'))).to.equal(`Error: ${failure}`)
    } finally {
      await refusing.stop()
    }
  })

  it('ends when its signal says so, takes no path for an id, and shows no token', async () => {
    const busy = await answersAfter(9)
    try {
      const signal = AbortSignal.timeout(50)
      const stopped = connect(busy.url).notes.get('later', {}, { signal })
      expect(await rejection(stopped)).to.include('timeout')
      for (const id of ['..', '.', '']) expect(await rejection(connect().notes.get(id))).to.include('no id')
      expect((await calls.problemOf(connect().notes.get('../../livez')))?.code).to.equal('object-not-found')
      expect(await rejection(connect(server.url, 'se\ncret').notes.get('1')))
        .to.include('token')
        .and.not.include('cret')
      const page = await calls.problemOf(connect(busy.url).notes.get('page'))
      expect(page).to.include({ code: 'unreadable-answer', status: 200 })
    } finally {
      await busy.stop()
    }
  })

  async function titles(api: ReturnType<typeof connect>): Promise<readonly unknown[]> {
    const found: unknown[] = []
    for await (const note of api.notes.list()) found.push(note.title)
    return found
  }
})

describe('`sallyport client`', () => {
  let folder: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-client-'))
    await makeFolder(join(folder, 'with/node_modules'))
    for (const name of ['openapi-typescript', 'typescript']) {
      await symlink(
        join(ROOT, 'examples/typescript-client/node_modules', name),
        join(folder, 'with/node_modules', name),
      )
    }
  })
  after(() => removeFolder(folder))

  const client = (file: string, ...more: readonly string[]) =>
    sallyport(['client', '--out', join(folder, file), ...SHIPPED, ...more], { cwd: folder })

  it('makes the same file again, and says in CI if it would be another one', async () => {
    expect(await client('with/src/api.ts', '--role', 'member')).to.include({ code: 0, stderr: '' })
    const text = await readFile(join(folder, 'with/src/api.ts'), 'utf8')
    expect(text).to.match(/^\/\/ Made by `sallyport client --role member`: /)
    expect(text).to.not.include('accounts.delete')
    expect((await client('with/src/api.ts', '--role', 'member', '--check')).code).to.equal(0)
    const { code, stderr } = await client('with/src/api.ts', '--check')
    expect(code).to.equal(1)
    expect(stderr).to.include('is not what the schemas and the policy say: make it again without --check')
    expect(await readFile(join(folder, 'with/src/api.ts'), 'utf8')).to.equal(text)
    expect((await client('with/none.ts', '--check')).code).to.equal(1)
    expect((await client('with/src/api.ts')).code).to.equal(0)
    expect(await readFile(join(folder, 'with/src/api.ts'), 'utf8')).to.not.equal(text)
  })

  it('leaves a file that it did not make as it is', async () => {
    await writeFile(join(folder, 'with/mine.ts'), 'export {}\n')
    const { code, stderr } = await client('with/mine.ts')
    expect([code, stderr.trim().split('\n').length]).to.deep.equal([2, 1])
    expect(stderr).to.include("wasn't made by this command, and was left as it is: name another file with --out")
    expect(await readFile(join(folder, 'with/mine.ts'), 'utf8')).to.equal('export {}\n')
  })

  it('says which package to install where the generator is missing', async () => {
    const { code, stderr } = await client('without.ts')
    expect([code, stderr.trim().split('\n').length]).to.deep.equal([2, 1])
    expect(stderr).to.include('run `npm install --save-dev openapi-typescript@7 typescript@5`')
  })
})

async function rejection(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'no error',
    (error) => String(error),
  )
}

interface Between {
  readonly url: string
  stop(): Promise<void>
}

async function listening(server: Server): Promise<Between> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** A way to the server that breaks after it has done a write, once for each URL and body. */
async function losesFirstAnswers(to: string): Promise<Between & { lost(): readonly string[] }> {
  const lost: string[] = []
  const seen = new Set<string>()
  const proxy = createServer(async (asked, answer) => {
    const body = Buffer.concat(await asked.toArray())
    const onward = request(`${to}${asked.url}`, { method: asked.method, headers: asked.headers }, async (came) => {
      const text = Buffer.concat(await came.toArray())
      const write = `${asked.method} ${asked.url} ${body}`
      if (asked.method !== 'GET' && !seen.has(write)) {
        seen.add(write)
        lost.push(`${asked.method} ${came.statusCode}`)
        asked.socket.destroy()
        return
      }
      answer.writeHead(came.statusCode ?? 500, came.headers).end(text)
    })
    onward.end(body)
  })
  return { ...(await listening(proxy)), lost: () => lost }
}

/** Answers with the status that the path ends with, or the title of the body is, until the n-th time. */
async function answersAfter(n: number): Promise<Between & { tokens(): readonly unknown[]; keys(): readonly string[] }> {
  const times = new Map<string, number>()
  const tokens: unknown[] = []
  const keys: string[] = []
  const server = createServer(async (asked, answer) => {
    const body = Buffer.concat(await asked.toArray()).toString()
    const { 'idempotency-key': key, authorization } = asked.headers
    tokens.push(authorization)
    if (key !== undefined) keys.push(`${asked.method} ${key}`)
    const named = asked.url?.split('/').at(-1) ?? ''
    const call = `${asked.method} ${asked.url} ${body} ${asked.headers['if-match']} ${authorization === undefined}`
    times.set(call, (times.get(call) ?? 0) + 1)
    if (named === 'page') answer.end('<html>')
    else if ((times.get(call) ?? 0) > n) answer.writeHead(200, { 'Content-Type': 'application/json' }).end('{}')
    else answer.writeHead(statusOf(named), { 'Retry-After': named === 'wait' ? '3600' : '0' }).end()
  })
  return { ...(await listening(server)), tokens: () => tokens, keys: () => keys }
}

function statusOf(named: string): number {
  return /^\d+$/.test(named) ? Number(named) : 503
}
