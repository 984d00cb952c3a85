/** Cells about objects whose relations rest on others, on requests that meet conditions, and on transitions. */
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { databaseIn } from '../../src/store/open.ts'
import { attackAll } from '../../src/tools/matrix/attack/attack-all.ts'
import type { Result } from '../../src/tools/matrix/run/result.ts'
import { testMatrices } from '../../src/tools/matrix/run/trials.ts'
import { openTargetPool } from '../../src/tools/matrix/target/open-targets.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { CONDITION_CELLS, PROJECT_FILES, RELATED_CELLS, TRANSITION_CELLS } from './projects.ts'
import { HERE, told } from './told.ts'

describe('cells about objects that rest on others', () => {
  let server: TestServer

  before(async () => {
    server = await startTestServer({ files: PROJECT_FILES })
  })
  after(() => server.stop())

  it('are as expected in this process: the run makes parents and memberships', async () => {
    expect(told(await run(server, RELATED_CELLS, undefined))).to.deep.equal([])
  })

  it('are as expected at a deployment, which keeps none of the objects', async () => {
    const before = await counts(server)
    expect(told(await run(server, RELATED_CELLS, server.url))).to.deep.equal([])
    expect(await counts(server)).to.deep.equal(before)
  })

  it('are as expected on requests that meet conditions: address, time, sign-in and credential', async () => {
    expect(told(await run(server, CONDITION_CELLS, undefined))).to.deep.equal([])
  })

  it('are as expected of writes that change how the object relates', async () => {
    expect(told(await run(server, TRANSITION_CELLS, undefined))).to.deep.equal([])
  })

  it('are as expected of such writes at a deployment', async () => {
    const before = await counts(server)
    expect(told(await run(server, TRANSITION_CELLS, server.url))).to.deep.equal([])
    expect(await counts(server)).to.deep.equal(before)
  })

  it('at a deployment, a cell whose conditions the run can not set is not tried, and says why', async () => {
    const results = await run(server, CONDITION_CELLS, server.url)
    const tried = results.filter(({ title }) => title.includes(' as support '))
    expect(
      tried.map(({ title, outcome }) => `${title}: ${outcome}`).filter((one) => one.endsWith('passed')),
    ).to.deep.equal([
      'DELETE /tasks/{id} (open, fresh) as support is 204: passed',
      'DELETE /tasks/{id} (open, step-up) as support is 401: passed',
      'DELETE /projects/{id} (other, strong) as support is 204: passed',
      'DELETE /projects/{id} (other) as support is 401: passed',
      'GET /projects/{id} (other) as support is 403: passed',
    ])
    const others = results.flatMap(({ outcome, why = '' }) => (outcome === 'passed' ? [] : [`${outcome}: ${why}`]))
    expect([...new Set(others)]).to.deep.equal([
      "impossible: can't be tried: the run can't choose its address at the server, which `office` depends on",
      "impossible: can't be tried: the run can't make the credential at this server, which `machine` depends on",
    ])
  })

  it('fail where another answer is stated', async () => {
    const results = await run(server, 'method,path,object,member\nGET,/tasks/{id},member+open,403\n', undefined)
    expect(told(results)).to.deep.equal([
      'GET /tasks/{id} (member+open) as member is 403: expected 403, got 200; policy.csv:7 allows it',
    ])
  })
})

async function run({ folder }: TestServer, matrix: string, url: string | undefined): Promise<readonly Result[]> {
  const file = join(await mkdtemp(join(tmpdir(), 'sallyport-cells-')), 'cells.csv')
  await writeFile(file, matrix)
  const folders = { policies: join(folder, 'policies'), schemas: join(folder, 'schemas') }
  const target = {
    ...folders,
    ...(url === undefined ? {} : { url }),
    keyPlace: { dataDirectory: join(folder, 'data'), database: databaseIn(join(folder, 'data')), secrets: undefined },
    issuer: 'sallyport',
    audience: 'sallyport',
    setupRole: 'admin',
  }
  const { results } = await testMatrices([file], {
    ...HERE,
    ...folders,
    openTargets: (suite) => openTargetPool(suite, target),
  })
  return results
}

async function counts(server: TestServer) {
  const token = await server.token('ada', 'admin')
  const names = ['projects', 'memberships', 'tasks']
  const answers = await Promise.all(names.map((name) => server.ask('GET', `/${name}?limit=200`, { token })))
  return answers.map(({ body }) => body.items.length)
}

describe('attacks across projects', () => {
  it('reach what the policy allows, and no more', async () => {
    const server = await startTestServer({ files: PROJECT_FILES })
    const folders = { policies: join(server.folder, 'policies'), schemas: join(server.folder, 'schemas') }
    const { results } = await attackAll({
      ...HERE,
      ...folders,
      resources: ['memberships'],
    }).finally(() => server.stop())
    const parents = results.filter(({ attack }) => attack.vector === 'parent in body')
    expect(parents).to.have.length(23)
    expect(results.flatMap(({ outcome, why }) => (outcome === 'passed' ? [] : [why]))).to.deep.equal([])
  })
})
