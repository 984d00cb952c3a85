/** examples/projects over real HTTP: the wall, the team of a project, a task's life, and what needs a fresh sign-in. */
import { join } from 'node:path'
import { expect } from 'chai'
import { embeddedKeyIn } from '../../bench/fixture/embedded-key.ts'
import { fillExample, type Made, signIn } from '../../examples/projects/fill.ts'
import { issueToken } from '../../src/identity/tokens/issue-token.ts'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import { readPolicyFiles } from '../../src/policy/policy-files.ts'
import { loadResources } from '../../src/resources/load/load-resources.ts'
import { SharedReads } from '../../src/store/sqlite/shared-reads.ts'
import { SqliteStore } from '../../src/store/sqlite/store.ts'
import { startTestServer, type TestServer } from '../server.ts'

const pathOf = (name: string) => new URL(`../../examples/projects/${name}`, import.meta.url).pathname

/** alice leads the project, bob edits, sam views; audrey belongs to another tenant; ada runs the platform. */
const PEOPLE = ['alice', 'bob', 'sam', 'audrey', 'ada'] as const
type Name = (typeof PEOPLE)[number]

describe('examples/projects', () => {
  let server: TestServer
  let made: Made
  const tokens = new Map<Name, string>()
  /** Of the server's clock, in milliseconds. */
  let ahead = 0

  beforeEach(async () => {
    const env = { POLICIES: pathOf('policies'), SCHEMAS: pathOf('schemas') }
    ahead = 0
    server = await startTestServer({ demo: true, env, now: () => new Date(Date.now() + ahead) })
    made = await fillExample(server.url)
    for (const name of PEOPLE) tokens.set(name, await signIn(server.url, name))
  })
  afterEach(() => server.stop())

  it('has files without an error', async () => {
    const resources = await loadResources(pathOf('schemas'))
    expect(parsePolicy(await readPolicyFiles(pathOf('policies')), resources).rules.length).to.be.greaterThan(30)
  })

  it('has a wall around each tenant, over all resources', async () => {
    for (const path of paths()) expect([path, await status('audrey', 'GET', path)]).to.deep.equal([path, 403])
    for (const path of ['/projects', '/tasks', '/comments', '/folders', '/memberships']) {
      expect(await listed('audrey', path), path).to.deep.equal([])
      expect(await listed('alice', path), path).to.not.deep.equal([])
    }
    expect(await listed('audrey', '/tenants')).to.deep.equal([made.globex])
    expect(await listed('audrey', '/users')).to.deep.equal(['audrey'])
    const gift = { tenantId: made.globex }
    expect(await status('alice', 'PATCH', `/projects/${made.project}`, gift), 'out of the tenant').to.equal(403)
    const foreign = { name: 'x', tenantId: made.acme }
    expect(await status('audrey', 'POST', '/projects', foreign), 'into the tenant').to.equal(403)
    expect(await status('audrey', 'POST', '/tasks', { projectId: made.project, title: 'x' })).to.equal(403)
  })

  it('reads all that a decision rests on in one state of the database', async () => {
    // From its second request on, a token is known, so its caller and the object are read at once.
    expect(await status('sam', 'GET', `/tasks/${made.task}`)).to.equal(200)
    const { get, lookup } = SqliteStore.prototype
    const looks: string[] = []
    const { run } = SharedReads.prototype
    let open = false
    SharedReads.prototype.run = function (work) {
      looks.push('begin')
      open = true
      try {
        return run.call(this, work) as ReturnType<typeof work>
      } finally {
        open = false
      }
    }
    SqliteStore.prototype.get = function (resource, id) {
      looks.push(open ? resource : `${resource}, alone`)
      return get.call(this, resource, id)
    }
    SqliteStore.prototype.lookup = function (asked) {
      looks.push(open ? 'lookup' : 'lookup, alone')
      return lookup.call(this, asked)
    }
    try {
      expect(await status('sam', 'GET', `/tasks/${made.task}`)).to.equal(200)
    } finally {
      SharedReads.prototype.run = run
      Object.assign(SqliteStore.prototype, { get, lookup })
    }
    const last = looks.slice(looks.lastIndexOf('begin') + 1)
    expect(last).to.include.members(['tasks', 'lookup'])
    expect(looks.filter((look) => look.endsWith('alone'))).to.deep.equal([])
  })

  it('lets a lead who moved to another tenant put nothing into the old project', async () => {
    expect(await status('ada', 'PATCH', '/users/alice', { tenant: made.globex })).to.equal(200)
    const into = { projectId: made.project }
    expect(await status('alice', 'POST', '/tasks', { ...into, title: 'x' })).to.equal(403)
    expect(await status('alice', 'POST', '/memberships', { ...into, userId: 'audrey' })).to.equal(403)
    expect(await status('alice', 'POST', '/comments', { taskId: made.task, text: 'x' })).to.equal(403)
    expect(await status('alice', 'POST', '/folders', { name: 'x', parentId: made.root })).to.equal(403)
    const top = await server.ask('POST', '/folders', { token: tokens.get('alice'), body: { name: 'x' } })
    expect(top.status).to.equal(201)
    expect(await status('alice', 'PATCH', `/folders/${top.body.id}`, { parentId: made.root })).to.equal(403)
  })

  it('lets the team see tasks and comments, lead and editors write tasks, and everybody in the team comment', async () => {
    const task = { projectId: made.project, title: 't' }
    const comment = { taskId: made.task, text: 'c' }
    const answers = async (name: Name) => [
      await status(name, 'GET', `/tasks/${made.task}`),
      await status(name, 'PATCH', `/tasks/${made.task}`, { title: name }),
      await status(name, 'POST', '/tasks', task),
      await status(name, 'POST', '/comments', comment),
      await status(name, 'PATCH', `/comments/${made.comment}`, { text: name }),
    ]
    expect(await answers('alice')).to.deep.equal([200, 200, 201, 201, 403])
    expect(await answers('bob')).to.deep.equal([200, 200, 201, 201, 200])
    expect(await answers('sam')).to.deep.equal([200, 403, 403, 201, 403])
    expect(await answers('audrey')).to.deep.equal([403, 403, 403, 403, 403])
  })

  it('takes a membership away, and with it the tasks', async () => {
    const memberships = await listed('bob', '/memberships')
    expect(await status('alice', 'DELETE', `/memberships/${memberships[0]}`)).to.equal(204)
    expect(await status('bob', 'GET', `/tasks/${made.task}`)).to.equal(403)
    expect(await listed('bob', '/tasks')).to.deep.equal([])
  })

  it('leads a task from open to done to archived, each step by whom it belongs to', async () => {
    const path = `/tasks/${made.task}`
    const change = (name: Name, body: unknown) => status(name, 'PATCH', path, body)
    expect(await change('bob', { status: 'done' }), 'nobody does it yet').to.equal(403)
    expect(await change('sam', { assigneeId: 'sam' }), 'a viewer').to.equal(403)
    expect(await change('bob', { assigneeId: 'alice' }), 'for another').to.equal(403)
    expect(await change('bob', { assigneeId: 'bob' })).to.equal(200)
    expect(await change('alice', { assigneeId: 'alice' }), 'it is taken').to.equal(403)
    expect(await change('bob', { assigneeId: null }), 'given back').to.equal(200)
    expect(await change('bob', { assigneeId: 'bob' })).to.equal(200)
    expect(await change('bob', { priority: 1 }), 'not urgent after all').to.equal(403)
    expect(await change('alice', { status: 'done' }), "another's task").to.equal(403)
    expect(await change('bob', { status: 'archived' }), 'no step').to.equal(403)
    expect(await change('bob', { status: 'done' })).to.equal(200)
    expect(await change('bob', { title: 'later' }), 'done').to.equal(403)
    expect(await change('bob', { status: 'archived' }), 'no lead').to.equal(403)
    expect(await change('alice', { status: 'archived' })).to.equal(200)
    expect(await change('alice', { status: 'open' }), 'archived').to.equal(403)
  })

  it('deletes only with a sign-in that is younger than ten minutes', async () => {
    const nine = await signedInBefore(9)
    const refused = await server.ask('DELETE', `/tasks/${made.task}`, { token: await signedInBefore(11) })
    expect([refused.status, refused.body.code]).to.deep.equal([401, 'step-up-required'])
    expect(refused.headers.get('www-authenticate'))
      .to.contain('insufficient_user_authentication')
      .and.contain('max_age')
    expect(await status('bob', 'DELETE', `/tasks/${made.task}`), 'fresh, but no lead').to.equal(403)
    expect((await server.ask('DELETE', `/tasks/${made.task}`, { token: nine })).status).to.equal(204)
    expect(await status('alice', 'DELETE', `/projects/${made.project}`), 'just now').to.equal(204)
  })

  it('lets the author of a comment fix it for a quarter of an hour', async () => {
    const path = `/comments/${made.comment}`
    expect(await status('bob', 'PATCH', path, { text: 'Which colours?' })).to.equal(200)
    ahead = 15 * 60_000
    tokens.set('bob', await signIn(server.url, 'bob'))
    expect(await status('bob', 'GET', path)).to.equal(200)
    expect(await status('bob', 'PATCH', path, { text: 'Which colour?' })).to.equal(403)
  })

  it('shows a folder to the owners of the folders above it', async () => {
    expect(await listed('alice', '/folders')).to.have.members([made.root, made.leaf])
    expect(await listed('bob', '/folders')).to.deep.equal([made.leaf])
    expect(await status('alice', 'PATCH', `/folders/${made.leaf}`, { name: 'x' })).to.equal(403)
  })

  /** A token of alice's whose sign-in was so many minutes ago. */
  async function signedInBefore(minutes: number): Promise<string> {
    const key = await embeddedKeyIn(join(server.folder, 'data'))
    const authTime = Date.now() - minutes * 60_000
    const claims = { subject: 'alice', roles: ['member'], issuer: 'sallyport', audience: 'sallyport' }
    return issueToken(key, { ...claims, lifetimeSeconds: 600, authTime })
  }

  function paths(): readonly string[] {
    const { acme, project, task, comment, root } = made
    return [
      `/tenants/${acme}`,
      `/projects/${project}`,
      `/tasks/${task}`,
      `/comments/${comment}`,
      `/folders/${root}`,
    ].concat('/users/alice')
  }

  async function status(name: Name, method: string, path: string, body?: unknown): Promise<number> {
    return (await server.ask(method, path, { token: tokens.get(name), body })).status
  }

  async function listed(name: Name, path: string): Promise<readonly string[]> {
    const { body } = await server.ask('GET', path, { token: tokens.get(name) })
    return body.items.map(({ id }: { readonly id: string }) => id)
  }
})
