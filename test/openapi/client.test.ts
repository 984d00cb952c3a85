/** docs/clients.md: what it shows is what runs, and it does what it says. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { fillExample, signIn } from '../../examples/projects/fill.ts'
import { sallyport } from '../command.ts'
import { program } from '../programs.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { until } from '../until.ts'
import { read } from './fixture.ts'

const run = promisify(execFile)

const CLIENT = new URL('../../examples/typescript-client/', import.meta.url).pathname

const PROJECTS = new URL('../../examples/projects/', import.meta.url).pathname

/** The code blocks of the page in a language. */
function blocks(language: string): readonly string[] {
  const found = read('docs/clients.md').matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))
  return [...found].map(([, code = '']) => code)
}

describe('docs/clients.md', () => {
  let server: TestServer
  let token: string

  before(async () => {
    server = await startTestServer({ demo: true })
    token = await server.token('alice', 'member')
  })
  after(() => server.stop())

  it('shows code of examples/typescript-client as it is', () => {
    const source = ['notes', 'tasks'].map((name) => read(`examples/typescript-client/src/${name}.ts`)).join('')
    expect(blocks('ts')).to.have.length.greaterThan(2)
    for (const block of blocks('ts')) expect(source).to.include(block.trim())
  })

  it('the generated client makes, pages, changes without losing an update, and understands problems', async () => {
    const { code, stderr } = await sallyport(['client', '--out', `${CLIENT}generated/api.ts`])
    expect(code, stderr).to.equal(0)
    const { stdout } = await run(process.execPath, ['src/example.ts', server.url, token], { cwd: CLIENT })
    const { titles, ...rest } = JSON.parse(stdout)
    expect(titles).to.have.length.greaterThan(2)
    expect(titles[0]).to.equal('buy milk')
    expect(rest).to.deep.equal({
      made: 'buy milk',
      tags: Array.from({ length: 10 }, (_, i) => `tag ${i}`),
      offers: { mayDelete: true, inputs: ['ownerId', 'title', 'body', 'tags'] },
      faults: ['/title', '/tags'],
      gone: 'object-not-found',
    })
  })

  it('the generated client of the example follows its tasks, reads their past, and renews its token', async () => {
    const places = ['policies', 'schemas'].flatMap((name) => [`--${name}`, join(PROJECTS, name)])
    const { code, stderr } = await sallyport(['client', '--out', `${CLIENT}generated/projects.ts`, ...places])
    expect(code, stderr).to.equal(0)
    const { connectWith, followTasks, pastOf } = await import(`${CLIENT}src/tasks.ts`)
    const env = { POLICIES: join(PROJECTS, 'policies'), SCHEMAS: join(PROJECTS, 'schemas') }
    const projects = await startTestServer({ demo: true, env })
    const stop = new AbortController()
    try {
      const { project, task } = await fillExample(projects.url)
      const tokens = ['refused', await signIn(projects.url, 'alice')]
      const api = connectWith(projects.url, async () => tokens.shift())
      const tasks = new Map<string, { title: string }>()
      const followed = followTasks(api, tasks, stop.signal).catch((error: unknown) => error)
      await until(() => tasks.get(task)?.title === 'Build a rocket')
      const made = await api.tasks.create({ projectId: project, title: 'Fly', assigneeId: 'alice' })
      await until(() => tasks.has(made.id))
      await api.tasks.update(task, { title: 'Build two' })
      await api.tasks.update(made, { status: 'done' })
      await until(() => tasks.size === 1 && tasks.get(task)?.title === 'Build two')
      expect(await pastOf(api, task, made.createdAt)).to.deep.equal(['alice', 'alice', 'Build a rocket'])
      expect(tokens).to.deep.equal([])
      stop.abort()
      expect(await followed).to.equal(stop.signal.reason)
    } finally {
      stop.abort()
      await projects.stop()
    }
  })

  it('the curl lines do what stands beside them', async () => {
    const curl = program('curl')
    const script = `set -euo pipefail\ncurl() { '${curl}' "$@"; }\n${blocks('sh').join('\n')}`
    const env = { PATH: process.env.PATH, SALLYPORT: server.url, TOKEN: token }
    const { stdout } = await run('bash', ['-c', script], { env })
    const statuses = [...stdout.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => Number(status))
    const promised = blocks('sh').flatMap((block) =>
      [...block.matchAll(/# -> (\d{3})/g)].map(([, status]) => Number(status)),
    )
    expect(promised).to.have.length.greaterThan(5)
    expect(stdout).to.match(/^Idempotency-Replayed: true/im)
    expect(statuses).to.deep.equal(promised)
  })
})
