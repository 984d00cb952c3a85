/** A policy directory that is swapped, by rename or by symlink, is taken whole and at once. */
import { cp, rename, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { removeFolder } from '../ends-with-tests.ts'
import { addRules } from '../policy-text.ts'
import { type Answer, startTestServer, type TestServer } from '../server.ts'
import { readinessOf } from './readiness.ts'
import { until } from './until.ts'

describe('a policy directory that is swapped whole', () => {
  let server: TestServer
  let token: string

  beforeEach(async () => {
    server = await startTestServer({ demo: true })
    token = await server.token('alice', 'member')
    await cp(path('policies'), path('policies-2'), { recursive: true })
    await addRules(path('policies-2/policy.csv'), 'p, member, users, read, any, public, allow\n')
  })
  afterEach(() => server.stop())

  it('by rename is in force within a second', async () => {
    await rename(path('policies'), path('policies-1'))
    await rename(path('policies-2'), path('policies'))
    await until(bobsProfile, ({ status }) => status === 200)
  })

  it('by a symlink that points elsewhere is in force within a second, and back again', async () => {
    await rename(path('policies'), path('policies-1'))
    await pointTo('policies-1')
    expect((await bobsProfile()).status).to.equal(403)
    // As soon as it is noticed, so that some exchanges come between a look at the directory and the reading.
    for (let i = 0; i < 5; i++) {
      await pointTo('policies-2')
      await until(bobsProfile, ({ status }) => status === 200)
      await pointTo('policies-1')
      await until(bobsProfile, ({ status }) => status === 403)
    }
  })

  it('that is missing for a while keeps the last good policy', async () => {
    await removeFolder(path('policies'))
    await until(
      () => readinessOf(server),
      ({ body }) => body.status === 'degraded',
    )
    expect((await server.ask('GET', '/api/v1/notes', { token })).status).to.equal(200)
    expect((await bobsProfile()).status).to.equal(403)
  })

  /** As tools do it that swap at once: a new link under another name, renamed over the old one. */
  async function pointTo(directory: string): Promise<void> {
    await symlink(path(directory), path('link'))
    await rename(path('link'), path('policies'))
  }

  function path(name: string): string {
    return join(server.folder, name)
  }

  function bobsProfile(): Promise<Answer> {
    return server.ask('GET', '/api/users/bob', { token })
  }
})
