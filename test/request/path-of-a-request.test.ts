/** How much code a request runs through, and that ARCHITECTURE.md tells its stages. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { textOfTime } from '../../src/base/time.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { until } from '../until.ts'
import { filesOf, functionsOf, type Traced } from './traced.ts'

const ROOT = new URL('../../', import.meta.url)

/** Only a decision raises these (docs/decisions/0039). */
const MOST_FILES = 76
const MOST_FUNCTIONS = 340

describe('the path of a request', () => {
  let server: TestServer
  let traced: Traced

  before(async () => {
    const limits = await readFile(new URL('policies/limits.yaml', ROOT), 'utf8')
    server = await startTestServer({ files: { 'policies/limits.yaml': limits } })
    const patch = await patching(server)
    // What is made once, with the first requests, is no part of the path.
    for (let i = 0; i < 20; i++) await patch()
    traced = await functionsOf(patch)
  })

  after(() => server.stop())

  it(`of a PATCH runs through at most ${MOST_FILES} files`, () => {
    const files = [...filesOf(traced)]
    expect(files.length, files.sort().join('\n')).to.be.at.most(MOST_FILES)
  })

  it(`of a PATCH runs through at most ${MOST_FUNCTIONS} functions`, () => {
    expect(traced.size, [...traced].sort().join('\n')).to.be.at.most(MOST_FUNCTIONS)
  })

  it('passes the gate, the store and the record', () => {
    const files = filesOf(traced)
    for (const one of ['decide/decide.ts', 'server/stages/authorize.ts', 'decision-log/recorder.ts']) {
      expect(files, one).to.include(one)
    }
    expect([...files].some((file) => file.startsWith('store/sqlite/'))).to.equal(true)
  })

  it('a function counts only if each run calls it', async () => {
    const now = new Date()
    expect([...filesOf(await functionsOf(async () => textOfTime(now)))]).to.deep.equal(['base/time.ts'])
    let runs = 0
    const once = await functionsOf(async () => runs++ === 0 && textOfTime(now))
    expect([...once]).to.deep.equal([])
    const everySecond = await functionsOf(async () => runs++ % 2 === 0 && textOfTime(now))
    expect([...everySecond]).to.deep.equal([])
    const often = () => void Array.from({ length: 30 }, () => textOfTime(now))
    const timer = setInterval(often, 100)
    const beside = await functionsOf(() => sleep(10))
    clearInterval(timer)
    expect([...beside]).to.deep.equal([])
  })

  it('is told by ARCHITECTURE.md: all stages of stack.ts, in their order', async () => {
    const stages = stagesOf(await readFile(new URL('src/server/stack.ts', ROOT), 'utf8'))
    expect(stages).to.include.members(['answer', 'authorize', 'validate'])
    expect(toldStages(await readFile(new URL('ARCHITECTURE.md', ROOT), 'utf8'))).to.deep.equal(stages)
  })

  it('a stage that ARCHITECTURE.md leaves out would be found', () => {
    const stages = stagesOf('.use(answer(parts))\n// .use\n    .use(match(routers))')
    expect(stages).to.deep.equal(['answer', 'match'])
    expect(
      toldStages('## The life of a request\n2. [`answer`](a) is first; `x` too.\n## Next\n3. [`match`](b)'),
    ).to.deep.equal(['answer'])
  })
})

async function patching(server: TestServer): Promise<() => Promise<void>> {
  const token = await server.token('ann', 'member')
  const note = { title: 'Milk', body: 'two bottles', tags: ['home'] }
  const { body } = await server.ask('POST', '/api/v1/notes', { token, body: note })
  const log = join(server.folder, 'data/decisions.log')
  await server.decisions()
  const written = (await readFile(log, 'utf8')).split('\n').length - 1
  let title = 0
  return async () => {
    const path = `/api/v1/notes/${body.id}`
    const answer = await server.ask('PATCH', path, {
      token,
      body: { title: `Milk ${title++}` },
      headers: { 'If-Match': '*' },
    })
    expect(answer.status, answer.text).to.equal(200)
    // Its record is a part of the path: without this, a fast machine would write the records of many runs as one.
    await until(async () => (await readFile(log, 'utf8')).split('\n').length > written + title)
  }
}

/** The names of stages in the order of `use`. */
function stagesOf(stack: string): readonly string[] {
  return [...stack.matchAll(/\.use\((\w+)\(/g)].map(([, name]) => name ?? '')
}

/** The stages that begin the lines of the list, or stand in it as `[name](…)`. */
function toldStages(page: string): readonly string[] {
  const [, section = ''] = /## The life of a request\n(.*?)\n## /s.exec(page) ?? []
  return [...section.matchAll(/\[`(\w+)`\]\(/g)].map(([, name]) => name ?? '')
}
