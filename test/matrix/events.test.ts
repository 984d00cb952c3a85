/** Cells about events: what a caller who follows is told of what happens to an object, on a server and by prediction. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect } from 'chai'
import { readConfig } from '../../src/config/config.ts'
import { surveyCells } from '../../src/tools/matrix/cells/survey.ts'
import { planMatrix } from '../../src/tools/matrix/init/plan-matrix.ts'
import { writeMatrix } from '../../src/tools/matrix/init/write-matrix.ts'
import { judgeMutant, makeMutants } from '../../src/tools/matrix/mutate/judge-mutant.ts'
import type { Operator } from '../../src/tools/matrix/mutate/operators.ts'
import { statementsOf, unmetFindings } from '../../src/tools/matrix/predict/expectations-met.ts'
import { type PredictedSuite, readPredictedSuite } from '../../src/tools/matrix/predict/suite.ts'
import type { Result } from '../../src/tools/matrix/run/result.ts'
import { testMatrices } from '../../src/tools/matrix/run/trials.ts'
import { openTargetPool } from '../../src/tools/matrix/target/open-targets.ts'
import { ENGINES } from '../data/each-engine.ts'
import { EVENTS_WORLD } from '../events/events-world.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { HERE, told } from './told.ts'

const HEAD = 'method,path,object,event,becomes,body,member,support,auditor\n'
const CELLS = `${HEAD}GET,/parcels/events,none,,,,200,200,200
GET,/parcels/events,none,created,owner,,200 appeared open,200 appeared open,200 nothing
GET,/parcels/events,none,created,team,,200 appeared open,-,-
GET,/parcels/events,none,created,ofDepartment,,200 appeared brief,-,-
GET,/parcels/events,none,created,other,,200 nothing,200 appeared open,200 nothing
GET,/parcels/events,owner,changed,other>sent,,200 changed open,-,200 appeared
GET,/parcels/events,owner+sent,changed,owner>other,,200 gone,200 changed open,200 changed
GET,/parcels/events,ofDepartment,changed,,secret.json,200 nothing,200 changed,-
GET,/parcels/events,owner,deleted,,,200 gone,-,200 nothing
`
/** For a run that waits more than it computes. */
const FEW = `${HEAD}GET,/parcels/events,none,created,team,,200 appeared open,-,200 nothing
GET,/parcels/events,owner,changed,other>sent,,200 changed open,-,200 appeared
GET,/parcels/events,owner,deleted,,,200 gone,-,200 nothing
`

const KEYS_SECRET = randomBytes(32).toString('base64')

describe('cells about events', () => {
  let server: TestServer

  before(async () => {
    server = await startTestServer({ files: EVENTS_WORLD })
  })
  after(() => server.stop())

  it('are as expected in this process, where other cells change nothing meanwhile', async () => {
    const others =
      'POST,/parcels,none,,owner,,403,403,403\nGET,/parcels,none,,,,200 [own+ofDepartment+team],200 [all],200 [sent]\n'
    const results = await run(server, CELLS + others)
    expect(told(results)).to.deep.equal([])
    expect(results).to.have.length(26)
  })

  it('are predicted as a server answers them, and a prediction tells those that are wrong', async () => {
    const suite = await predicted(server, CELLS)
    expect(await unmetFindings(suite)).to.deep.equal([])
    const wrong = `${HEAD}GET,/parcels/events,none,created,ofDepartment,,200 appeared open,200 nothing,-\n`
    const found = await unmetFindings(await predicted(server, wrong))
    expect(found.map(({ message }) => message.replace(/^.* as /, ''))).to.deep.equal([
      'member is 200 appeared open: the policy answers 200 appeared brief',
      'support is 200 nothing: the policy answers 200 appeared open',
    ])
  })

  it('are wrong where the cell states another event, other fields, or silence', async () => {
    const rows = [
      'GET,/parcels/events,owner,changed,other>sent,,200 appeared,200 changed brief,200 nothing',
      'GET,/parcels/events,other,deleted,,,200 gone,200 reset,403',
      '',
    ]
    expect(faults(await run(server, HEAD + rows.join('\n')))).to.deep.equal([
      'member: expected the caller to be told `appeared`, but it was told `changed`',
      'support: the answer shows `ownerId`, `teamId`, `note`, `createdAt`, `updatedAt`, which the view `brief` does not have',
      'auditor: expected the caller to be told nothing, but it was told `appeared`',
      'member: expected the caller to be told `gone`, but it was told nothing',
      'support: expected the caller to be told `reset`, but it was told `gone`',
      'auditor: expected 403, got 200',
    ])
  })

  it('can not be tried where the path is no stream, or no object has these relations', async () => {
    const rows = [
      'GET,/parcels,none,created,owner,,200 appeared,-,-',
      'GET,/parcels/events,owner,,,,200,-,-',
      'GET,/parcels/events,none,created,driver,,200 appeared,-,-',
      'GET,/parcels/events,owner,changed,,list.json,200 changed,-,-',
      '',
    ]
    expect(faults(await run(server, HEAD + rows.join('\n')))).to.deep.equal([
      "member: can't be tried: `/parcels` is no stream of events: empty the cell in the column event, or write the path of one",
      "member: can't be tried: `/parcels/events` names no object: say in the column event what happens to the object, or write `none`",
      "member: can't be tried: ownership.yaml declares no relation `driver` of parcels: declare it, or name one of `owner`, `ofDepartment`, `team`, `sent`",
      "member: can't be tried: the body file is no object with the fields that change",
    ])
  })
})

for (const [engine, startOn] of ENGINES) {
  it(`cells about events are as expected at a deployment on ${engine}, which keeps none of the objects`, async () => {
    const { server, url, stop } = await startOn({ files: EVENTS_WORLD, env: { KEYS_SECRET } })
    try {
      expect(told(await run(server, FEW, { url: server.url, database: url }))).to.deep.equal([])
      const { body } = await server.ask('GET', '/parcels', { token: await server.token('ada', 'admin') })
      expect(body.items).to.deep.equal([])
    } finally {
      await stop()
    }
  })
}

describe('a server that tells events otherwise', () => {
  let server: TestServer
  const proxies: Server[] = []

  before(async () => {
    server = await startTestServer({ files: EVENTS_WORLD })
  })
  after(() => {
    for (const proxy of proxies) proxy.close()
    return server.stop()
  })

  /** Cells of a member, at a deployment where something else is sent of these events. */
  const asked = async (rows: string, instead: Instead) => {
    const proxy = await between(server.url, instead)
    proxies.push(proxy)
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
    return faults(await run(server, `method,path,object,event,becomes,member\n${rows}\n`, { url }))
  }
  const CHANGED = 'GET,/parcels/events,owner,changed,other>sent,200 changed open'
  const SILENT = 'GET,/parcels/events,other,changed,other>sent,200 nothing'

  it('makes no cell wrong if it sends the same', async () => {
    expect(await asked(`${CHANGED}\n${SILENT}`, (event) => [event])).to.deep.equal([])
  })

  it('makes a cell wrong if it tells an event twice, or not at all', async () => {
    const twice = await asked(CHANGED, (event) => (event.includes('event: changed') ? [event, event] : [event]))
    expect(twice).to.deep.equal([
      'member: expected the caller to be told one event at most, but it was told 2: `changed`, `changed`',
    ])
    const never = await asked(CHANGED, (event) => (event.includes('event: changed') ? [] : [event]))
    expect(never).to.deep.equal(['member: expected the caller to be told `changed`, but it was told nothing'])
  })

  it('makes a cell wrong if it shows a field too much', async () => {
    const more = await asked(CHANGED, (event) => [event.replace('"state":', '"secret":"s","state":')])
    expect(more).to.deep.equal(['member: the answer shows `secret`, which the view `open` does not have'])
  })

  it('makes a cell wrong if it tells what nobody may see', async () => {
    const token = await server.token('ada', 'admin')
    // Before the caller is told of the other object, it is told of all that are sent.
    const leak = async (event: string) => {
      if (!event.includes('event: appeared')) return [event]
      const { body } = await server.ask('GET', '/parcels?state=sent', { token })
      const ids = (body.items as readonly { readonly id: string }[]).map(({ id }) => id)
      return [...ids.map((id) => `event: changed\ndata: ${JSON.stringify({ id })}`), event]
    }
    expect(await asked(SILENT, leak)).to.deep.equal([
      'member: expected the caller to be told nothing, but it was told `changed`',
    ])
  })

  it('proves no silence: a cell whose last event is missing is not green', async () => {
    const deaf = await asked(SILENT, (event) => (event.includes('event: reset') ? [event] : undefined))
    expect(deaf).to.deep.equal([
      "member: can't be tried: the caller was not told of another object that it may see, so nobody knows whether more events come",
    ])
    const begun = await asked(SILENT, () => undefined)
    expect(begun).to.deep.equal(["member: can't be tried: the stream of events did not begin with `reset`"])
  })
})

describe('rules about events', () => {
  let server: TestServer

  before(async () => {
    server = await startTestServer({ files: EVENTS_WORLD })
  })
  after(() => server.stop())

  const OPEN = 'method,path,object,member\nGET,/parcels/events,none,200\n'

  it('are open in coverage until a cell about an event needs them', async () => {
    const ofTeam = async (matrix: string) => {
      const suite = await predicted(server, matrix)
      const { cells } = await surveyCells(suite, ({ action }) => action.name === 'watch')
      const cell = cells.find(({ object, column }) => object === 'none created becomes team' && column === 'member')
      return [cell?.answer, cell?.covered, await verdictOn(suite, 'team', 'drop-rule')]
    }
    expect(await ofTeam(OPEN)).to.deep.equal(['200 appeared open', false, 'survived'])
    const told = `${HEAD}GET,/parcels/events,none,created,team,,200 appeared,-,-\n`
    expect(await ofTeam(told)).to.deep.equal(['200 appeared open', true, 'killed'])
  })

  it('have rows in the matrices that init writes, which a server answers so', async () => {
    const suite = await predicted(server, OPEN)
    const columns = [{ column: { kind: 'roles', roles: ['member'] } as const, concerns: () => true }]
    const isOther = ({ path, object }: { path: string; object: { kind: string } }) =>
      path !== '/parcels/events' || object.kind !== 'none'
    const { rows, ...plan } = await planMatrix(suite, columns, isOther)
    const files = writeMatrix({ ...plan, rows }, '')
    const written = files.find(({ name }) => name === 'parcels.csv')?.text ?? ''
    expect(written.split('\n')).to.include.members([
      'method,path,object,event,becomes,member',
      'GET|HEAD,/parcels/events,none,,,200',
      'GET,/parcels/events,none,created,other,200 nothing',
      'GET,/parcels/events,none,created,own,200 appeared open',
      'GET,/parcels/events,none,created,ofDepartment,200 appeared brief',
    ])
    expect(await unmetFindings(await predicted(server, written))).to.deep.equal([])
  })

  it('that are widened by mistake are noticed by a cell that is told nothing', async () => {
    const widened = async (matrix: string) => verdictOn(await predicted(server, matrix), 'sent', 'any-object')
    expect(await widened(OPEN.replaceAll('member', 'auditor'))).to.equal('survived')
    expect(await widened(`${HEAD}GET,/parcels/events,none,created,other,,-,-,200 nothing\n`)).to.equal('killed')
  })
})

/** The verdict on a mistake in the rule that lets callers with this relation watch parcels. */
async function verdictOn(suite: PredictedSuite, relation: string, operator: Operator) {
  const { met } = await statementsOf(suite)
  const mutants = makeMutants(suite, suite.evaluated.policy, { only: new Set([operator]), valuesOf: () => [] })
  const mistake = mutants.find(({ change }) => change.includes(`parcels, read|list|watch, ${relation},`))
  if (!mistake) throw new Error('there is no such rule')
  return (await judgeMutant({ ...suite, stated: met }, mistake)).verdict.kind
}

/** The events to send in place of one; undefined ends the stream. */
type Instead = (event: string) => readonly string[] | undefined | Promise<readonly string[] | undefined>

async function between(url: string, instead: Instead): Promise<Server> {
  const proxy = createServer((req, res) => {
    const sent = request(url + req.url, { method: req.method, headers: req.headers, agent: false }, (answer) => {
      res.writeHead(answer.statusCode ?? 0, answer.headers).once('close', () => sent.destroy())
      const isStream = answer.headers['content-type']?.startsWith('text/event-stream') === true
      if (!isStream) answer.pipe(res)
      else
        void sendInstead(answer, res, instead)
          .catch(() => undefined)
          .then(() => res.end())
    })
    req.pipe(sent)
  })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  return proxy
}

async function sendInstead(answer: IncomingMessage, res: ServerResponse, instead: Instead): Promise<void> {
  let rest = ''
  for await (const piece of answer.setEncoding('utf8')) {
    const blocks = (rest + piece).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const told = await instead(block)
      if (!told) return
      res.write(told.map((one) => `${one}\n\n`).join(''))
    }
  }
}

async function stated({ folder }: TestServer, matrix: string) {
  const folders = { policies: join(folder, 'policies'), schemas: join(folder, 'schemas') }
  const there = await mkdtemp(join(folder, 'cells-'))
  const file = join(there, 'cells.csv')
  await writeFile(file, matrix)
  await mkdir(join(there, 'bodies'))
  await writeFile(join(there, 'bodies/secret.json'), '{"secret":"nobody sees this"}')
  await writeFile(join(there, 'bodies/list.json'), '[]')
  return { folders, file }
}

async function predicted(server: TestServer, matrix: string) {
  const { folders, file } = await stated(server, matrix)
  return readPredictedSuite({ ...folders, matrices: [file] }, Date.now())
}

async function run(
  server: TestServer,
  matrix: string,
  { url, database }: { readonly url?: string; readonly database?: string } = {},
): Promise<readonly Result[]> {
  const { folders, file } = await stated(server, matrix)
  const dataDirectory = join(server.folder, 'data')
  const env = { DATA_DIR: dataDirectory, ...(database && { DATABASE_URL: database, KEYS_SECRET }) }
  const { database: place, tokens } = readConfig(env)
  const secrets = tokens.keys.kind === 'embedded' ? tokens.keys.secrets : undefined
  const target = {
    ...folders,
    ...(url === undefined ? {} : { url }),
    keyPlace: { dataDirectory, database: place, secrets },
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

function faults(results: readonly Result[]): readonly string[] {
  return told(results).map((text) => text.replace(/^.* as (\S+) is [^:]*/, '$1'))
}
