/** A run against a deployment: it makes its objects with requests, waits when asked to, and leaves nothing it can remove. */
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { readConfig } from '../../src/config/config.ts'
import { withKeys } from '../../src/identity/keys/embedded/kept-keys.ts'
import { databaseIn } from '../../src/store/open.ts'
import type { Run } from '../../src/tools/matrix/run/result.ts'
import { testMatrices } from '../../src/tools/matrix/run/trials.ts'
import { retryAfter } from '../../src/tools/matrix/target/http.ts'
import { openTargetPool, type TargetOptions } from '../../src/tools/matrix/target/open-targets.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { HERE, told } from './told.ts'

const MATRICES = new URL('.', import.meta.url).pathname
/** A folder that isn't there. */
const NOWHERE = '/nonexistent'

describe('the matrices against a deployment', () => {
  let server: TestServer

  before(async () => {
    server = await startTestServer({ demo: true })
  })
  after(() => server.stop())

  it('are all as expected with the key of the server', async () => {
    const { results, url } = await run(server, {}, { only: /(notes.* admin|\/profile)/ })
    expect(results.length).to.be.greaterThan(100)
    expect(told(results)).to.deep.equal([])
    expect(url).to.equal(server.url)
  })

  it('are all as expected with the key that signs after a rotation', async () => {
    const rotated = await startTestServer({ demo: true })
    try {
      await withKeys(keyPlaceOf(join(rotated.folder, 'data')), async (kept) => {
        await kept.succeed(1)
        await kept.tidy()
      })
      const { results } = await run(rotated, {}, { only: /GET \/profile/ })
      expect(results.length).to.be.greaterThan(3)
      expect(told(results)).to.deep.equal([])
    } finally {
      await rotated.stop()
    }
  })

  it('are all as expected with the key in the database of the server', async () => {
    const KEYS_SECRET = randomBytes(32).toString('base64')
    const shared = await startTestServer({ demo: true, env: { KEYS_SECRET } })
    try {
      const data = join(shared.folder, 'data')
      const settings = readConfig({ KEYS_SECRET, DATA_DIR: data })
      const { keys } = settings.tokens
      if (keys.kind !== 'embedded') throw new Error('it signs nothing')
      const keyPlace = { dataDirectory: data, database: settings.database, secrets: keys.secrets }
      const { results } = await run(shared, { keyPlace }, { only: /GET \/profile/ })
      expect(results.length).to.be.greaterThan(3)
      expect(told(results)).to.deep.equal([])
    } finally {
      await shared.stop()
    }
  })

  it('leave nothing behind but what the API can not remove, and say so', async () => {
    const before = await counts(server)
    const { remarks } = await run(server, {}, { only: /(POST|PATCH \/api).* (admin|member) / })
    const after = await counts(server)
    expect({ ...after, accounts: 0 }).to.deep.equal({ ...before, accounts: 0 })
    const left = (after.accounts ?? 0) - (before.accounts ?? 0)
    expect(left).to.be.greaterThan(2)
    expect(remarks.at(-1)).to.match(
      new RegExp(
        `^${left} objects of accounts \\(.*\\) could not be removed: no route of the resource accepts DELETE\\.$`,
      ),
    )
  })

  it('clean up when the run is ended early, and what had no turn is no pass', async () => {
    const before = await counts(server)
    const abort = new AbortController()
    const { results } = await run(
      server,
      { url: server.url },
      { resources: ['orders'] },
      (n) => n > 20 && abort.abort(),
      abort.signal,
    )
    expect(results.filter(({ outcome }) => outcome === 'left-out').length).to.be.greaterThan(50)
    expect((await counts(server)).orders).to.equal(before.orders)
  })

  it("with given tokens: somebody's own record is never changed, and what can't be made is no pass", async () => {
    const tokens = join(server.folder, 'tokens.yaml')
    const callers = { member: ['alice', 'member'], admin: ['ada', 'admin'], auditor: ['audrey', 'auditor'] } as const
    const lines = Object.entries(callers).map(async ([column, [subject, role]]) => {
      return `${column}: { subject: ${subject}, token: ${await server.token(subject, role)} }`
    })
    await writeFile(tokens, (await Promise.all(lines)).join('\n'))
    const { results } = await run(server, { tokens }, { only: /(notes|profile)/ })
    const why = new Set(told(results).map((line) => line.replace(/^.*: can't/, "can't")))
    expect(results.some(({ outcome }) => outcome === 'failed')).to.equal(false)
    expect([...why]).to.include(
      "can't be tried: there is no token for the column `support`: add one to the file of --tokens",
    )
    expect([...why]).to.include(
      "can't be tried: the record of alice is older than this run, so no request that could change it is sent",
    )
    expect(results.filter(({ outcome }) => outcome === 'passed').length).to.be.greaterThan(80)
    expect((await server.app.store.get('users', 'alice'))?.version).to.equal(1)
  })

  it('with given tokens, cases in steps change only what they made themselves', async () => {
    const tokens = join(server.folder, 'case-tokens.yaml')
    const [ada, alice] = [await server.token('ada', 'admin'), await server.token('alice', 'member')]
    await writeFile(tokens, `admin: { subject: ada, token: ${ada} }\nmember: { subject: alice, token: ${alice} }\n`)
    const file = join(server.folder, 'cases.yaml')
    const steps = [
      ["{ as: ad, method: DELETE, path: '/users/{al}', expect: { status: 204 } }"],
      ['{ as: al, method: PATCH, path: /profile, body: { bio: x }, expect: { status: 200 } }'],
      ['{ as: ad, method: PATCH, path: /api/users/bob, body: { bio: x }, expect: { status: 200 } }'],
      [
        '{ as: al, method: POST, path: /api/v1/notes, body: { title: t }, expect: { status: 201 }, save: { note: /id } }',
        "{ as: al, method: DELETE, path: '/api/v1/notes/{note}', expect: { status: 204 } }",
      ],
    ]
    const cases = steps.map((some, i) => {
      return `- name: case ${i}\n  callers: { ad: admin, al: member }\n  steps:\n${some.map((step) => `    - ${step}\n`).join('')}`
    })
    await writeFile(file, cases.join(''))
    const { results } = await run(server, { tokens }, {}, undefined, undefined, [file])
    expect(results.map(({ outcome }) => outcome)).to.deep.equal(['impossible', 'impossible', 'impossible', 'passed'])
    for (const id of ['alice', 'bob']) expect((await server.app.store.get('users', id))?.version).to.equal(1)
  })

  it('a cell that another answer was written for is red', async () => {
    const file = join(server.folder, 'wrong.csv')
    await writeFile(
      file,
      'method,path,object,member\nGET,/api/orders/{id},open+placed,200\nGET,/api/v1/notes,none,200 [all]\n',
    )
    const { results } = await run(server, {}, {}, undefined, undefined, [file])
    expect(results.map(({ outcome }) => outcome)).to.deep.equal(['failed', 'failed'])
    expect(results[0]?.why).to.match(/^expected 200, got 403/)
    expect(results[1]?.why).to.match(/^the list lacks 1 of the 2 objects/)
  })

  it('say in a sentence what is missing to ask a server', async () => {
    const failing = (whereabouts: Partial<TargetOptions>) =>
      run(server, whereabouts).then(
        () => 'ran',
        (error: Error) => error.message,
      )
    expect(await failing({ keyPlace: keyPlaceOf(NOWHERE) })).to.match(
      /^there is no database `\/nonexistent\/sallyport.db`; start the server once/,
    )
    expect(await failing({ url: 'http://api.example.com' })).to.match(/^--url must be an https address/)
    expect(await failing({ url: 'http://127.0.0.1:9' })).to.match(/^http:\/\/127.0.0.1:9 does not answer/)
    const said = await failing({ url: 'https://u:sesame@127.0.0.1:9' })
    expect(said).to.match(/^(?!.*sesame)--url has a user name or password/)
    const text = '{"kty":"OKP","d":"sesame"}'
    expect(await failing({ key: text })).to.match(/^(?!.*sesame)--key names no file/)
    expect(await failing({ tokens: text })).to.match(/^(?!.*sesame)--tokens names no file/)
    expect(await failing({ setupRole: 'boss' })).to.match(/declares no role `boss`/)
    expect(await failing({ key: join(server.folder, 'policies/roles.yaml') })).to.match(/is not a private key/)
    expect(await failing({ tokens: join(server.folder, 'policies/views.yaml') })).to.match(
      /views.yaml:\d+:\d+: `token` is missing/,
    )
  })

  it('wait as long as a server over its limits asks', async () => {
    const limits =
      'body: 100kb\npage: { default: 50, max: 200 }\nlimits:\n  few: { per: address, allow: 30, window: 1s }\n'
    const busy = await startTestServer({ demo: true, files: { 'policies/limits.yaml': limits } })
    try {
      const { results } = await run(busy, {}, { only: /GET \/api\/v1\/notes/ })
      expect(results.length).to.be.greaterThan(20)
      expect(told(results)).to.deep.equal([])
      expect((await busy.decisions()).filter(({ status }) => status === 429)).not.to.deep.equal([])
    } finally {
      await busy.stop()
    }
  })
})

describe('Retry-After', () => {
  it('is seconds, a time, or a second where it is absent or nonsense', () => {
    const now = Date.parse('2026-01-01T00:00:00Z')
    expect(retryAfter('7', now)).to.equal(7000)
    expect(retryAfter('Thu, 01 Jan 2026 00:00:09 GMT', now)).to.equal(9000)
    expect(retryAfter('Thu, 01 Jan 2015 00:00:09 GMT', now)).to.equal(0)
    expect(retryAfter(undefined, now)).to.equal(1000)
    expect(retryAfter('soon', now)).to.equal(1000)
  })
})

interface Narrowed {
  readonly only?: RegExp
  readonly resources?: readonly string[]
}

function run(
  server: TestServer,
  whereabouts: Partial<TargetOptions>,
  { only, resources = [] }: Narrowed = {},
  counted?: (results: number) => unknown,
  signal?: AbortSignal,
  paths: readonly string[] = [MATRICES],
): Promise<Run> {
  const folders = { policies: join(server.folder, 'policies'), schemas: join(server.folder, 'schemas') }
  const claims = { issuer: 'sallyport', audience: 'sallyport', setupRole: 'admin' }
  const keyPlace = keyPlaceOf(join(server.folder, 'data'))
  const asked: TargetOptions = { ...folders, ...claims, url: server.url, keyPlace, ...whereabouts }
  let seen = 0
  return testMatrices(paths, {
    ...HERE,
    ...folders,
    filter: { roles: [], resources, ...(only ? { only } : {}) },
    ...(signal ? { signal } : {}),
    openTargets: (suite) => openTargetPool(suite, asked),
    observe: () => counted?.(++seen),
  })
}

function keyPlaceOf(dataDirectory: string): TargetOptions['keyPlace'] {
  return { dataDirectory, database: databaseIn(dataDirectory), secrets: undefined }
}

async function counts({ app }: TestServer): Promise<Readonly<Record<string, number>>> {
  const names = [...app.resources.byName.values()].filter(({ builtIn }) => !builtIn).map(({ name }) => name)
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await app.seeding.count(name)] as const)),
  )
}
