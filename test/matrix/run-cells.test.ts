/** What the runner says of cells: green, red with what differs, and what can't be tried with why. */
import { expect } from 'chai'
import { formatDiagnostic } from '../../src/base/diagnostic.ts'
import { parseMatrix } from '../../src/tools/matrix/read/matrix-file.ts'
import { readAllRows, runCell } from '../../src/tools/matrix/run/run-cell.ts'
import { type MatrixServer, startMatrixServer } from './matrix-server.ts'

const RULES = `
p, everyone, *,       options,                any,             *,      allow
p, member,   papers,  list|read|update,       owner,           *,      allow
p, member,   papers,  read,                   colleague,       short,  allow
p, member,   papers,  delete,                 owner+draft,     *,      allow
p, keeper,   papers,  list|read|create|update|delete, any,     *,      allow
p, keeper,   users,   list|read|create|update|delete, any,     *,      allow
p, member,   users,   read,                   owner,           *,      allow
p, user:zoe, papers,  list,                   any,             short,  allow
p, user:zoe, users,   read|delete,            owner,           *,      allow
p, picker,   papers,  list|read,              draft,           *,      allow
`
const SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Paper',
  type: 'object',
  'x-resource': {
    routes: [
      { path: '/papers', methods: ['GET', 'POST'] },
      { path: '/papers/{id}', methods: ['GET', 'PATCH', 'DELETE'] },
    ],
  },
  properties: {
    id: { type: 'string', readOnly: true },
    authors: { type: 'array', items: { type: 'string', minLength: 1 }, minItems: 1 },
    department: { type: 'string', minLength: 1, 'x-index': true },
    state: { enum: ['draft', 'public'], type: 'string', default: 'draft' },
    archived: { type: 'boolean', default: false },
    code: { type: 'string', pattern: '^[A-Z]{2}[0-9]{2}$', examples: ['AB12'], 'x-index': true },
    pages: { type: 'integer', minimum: 3, multipleOf: 2 },
    meta: {
      type: 'object',
      properties: { at: { type: 'string', format: 'date-time' }, to: { type: 'string', format: 'email' } },
      required: ['at', 'to'],
      additionalProperties: false,
    },
    createdAt: { type: 'string', format: 'date-time', readOnly: true, 'x-index': true },
    updatedAt: { type: 'string', format: 'date-time', readOnly: true, 'x-index': true },
  },
  required: ['authors', 'code', 'pages', 'meta'],
  additionalProperties: false,
}
const OWNERSHIP = `
papers:
  relations:
    owner: authors
    colleague: { field: department, equals: subject.department }
    draft: { field: state, in: [draft] }
    finished: { field: state, in: [public] }
users:
  relations:
    owner: id
`
const FILES = {
  'schemas/papers.json': JSON.stringify(SCHEMA),
  'policies/policy.csv': RULES,
  'policies/roles.yaml':
    'member: { description: m }\nkeeper: { description: k, privileged: true }\npicker: { description: p }\n',
  'policies/ownership.yaml': OWNERSHIP,
  'policies/views.yaml': 'papers: { short: [id, code], long: [id, code, pages] }\naccounts: { balance: [balance] }\n',
}

describe('trying a cell', () => {
  let server: MatrixServer

  before(async () => {
    server = await startMatrixServer([], { files: FILES })
  })
  after(() => server.stop())

  it('sets any resource up from its schema and ownership.yaml', async () => {
    expect(
      await tried(`method,path,object,anonymous,member,keeper,user:zoe,picker
        GET,/papers/{id},own+finished,-,200,200,403,403
        GET,/papers/{id},own+draft,-,200,200,403,200
        GET,/papers/{id},colleague+finished,-,200 short,200,-,403
        GET,/papers/{id},draft,401,403,200,403,200
        GET,/papers/{id},finished,401,403,200,403,403
        DELETE,/papers/{id},own+finished,-,403,204,403,403
        DELETE,/papers/{id},colleague+owner+draft,-,204,204,-,403
        PATCH,/papers/{id},own+draft,-,200,200,403,403
        GET,/papers,none,401,200 [own],200 [all],200 short,200 [draft]
        HEAD,/papers,none,401,200 [own],200 [all],-,200 [draft]
        POST,/papers,none,401,403,201,403,403`),
    ).to.deep.equal([])
  })

  it('a red cell says what differs, and which rules stand behind it', async () => {
    expect(
      await tried(`method,path,object,member,keeper,user:zoe
        GET,/papers/{id},own+draft,403,-,-
        GET,/papers/{id},finished,200,-,-
        GET,/papers/{id},own+finished,200 short,-,-
        GET,/papers/{id},colleague+finished,200 long,-,-
        GET,/papers,none,200 [all],200 [own],-
        OPTIONS,/papers,none,200,-,-`),
    ).to.deep.equal([
      'expected 403, got 200; policy.csv:3 allows it',
      'expected 200, got 403; no rule of policy.csv allows it',
      'the answer shows `authors`, `department`, `state`, `archived`, `pages`, `meta`, `createdAt`, `updatedAt`, which the view `short` does not have; policy.csv:3 allows it',
      'the answer lacks `pages` of the view `long`; policy.csv:4 allows it',
      'the list lacks 4 of the 8 objects that it should have, for example `ID`',
      "the list shows N objects that are not the caller's own, for example `ID`",
      'expected 200, got 204; policy.csv:2 allows it',
    ])
  })

  it('a list with other rows than those that the relations of its cell name is red', async () => {
    const cells = [
      '[draft&own]',
      '[draft+own]',
      '[!finished]',
      '[none]',
      '[all]',
      '[own]',
      '[finished]',
      '[draft&!own]',
    ]
    const told = await Promise.all(
      cells.map(async (cell) => [cell, ...(await tried(`method,path,object,picker\nGET,/papers,none,200 ${cell}`))]),
    )
    expect(told).to.deep.equal([
      ['[draft&own]', 'the list shows N objects that are not `[draft&owner]`, for example `ID`'],
      ['[draft+own]', 'the list lacks 2 of the 6 objects that it should have, for example `ID`'],
      ['[!finished]'],
      ['[none]', 'the list should be empty, but it shows N objects, for example `ID`'],
      ['[all]', 'the list lacks 4 of the 8 objects that it should have, for example `ID`'],
      ['[own]', 'the list lacks 2 of the 4 objects that it should have, for example `ID`'],
      ['[finished]', 'the list lacks 4 of the 4 objects that it should have, for example `ID`'],
      ['[draft&!own]', 'the list shows N objects that are not `[draft&!owner]`, for example `ID`'],
    ])
  })

  it('a list of which a later page is refused is judged by no half', async () => {
    const pages = [{ items: [{ id: 'a' }], next: 'b' }, { items: [{ id: 'b' }] }]
    const answering = (...statuses: number[]) =>
      Object.assign(Object.create(server.target) as MatrixServer['target'], {
        ask: async () => ({ status: statuses.shift() ?? 500, headers: {}, text: '', json: pages[1] }),
      })
    const first = { status: 200, headers: {}, text: '', json: pages[0] ?? null }
    const list = { method: 'GET', url: 'http://127.0.0.1/papers' }
    expect(await readAllRows(answering(200), list, first)).to.deep.equal([{ id: 'a' }, { id: 'b' }])
    const refused = await readAllRows(answering(503), list, first).catch(String)
    expect(refused).to.include('page 2 of the list answers 503')
  })

  it("what can't be tried says why, and is no pass", async () => {
    expect(
      await tried(`method,path,object,body,anonymous,member,ghost,Member
        GET,/nowhere,none,,200,-,-,-
        GET,/paper,none,,200,-,-,-
        GET,/papers/{id},none,,200,-,-,-
        GET,/papers,own,,-,200,-,-
        POST,/papers,own,,-,201,-,-
        GET,/papers/{id},own+draft+finished,,-,200,-,-
        GET,/papers/{id},own+sister,,-,200,-,-
        GET,/papers/{id},own+draft,,200,-,-,-
        GET,/papers,none,,-,200 wide,200,200
        GET,/papers/{id},own+draft,,-,200 [own],-,-
        GET,/papers,none,,-,200 [own+drafts],-,-
        PATCH,/papers/{id},own+draft,none-such.json,-,200,-,-
        GET,/papers/{id},own,,-,200,-,-
        GET,/profile,other,,-,200,-,-`),
    ).to.deep.equal([
      "can't be tried: no route has the path `/nowhere`",
      "can't be tried: no route has the path `/paper`; did you mean `/papers`?",
      "can't be tried: `/papers/{id}` names an object: write the relations of the caller to it, or `missing`",
      "can't be tried: `/papers` names no object: write `none` in the column object",
      "can't be tried: `/papers` names no object: write `none` in the column object, and the relations of the new object in the column becomes",
      "can't be tried: no object of papers can exist with exactly the relations `draft` and `finished` and `owner` to this caller",
      "can't be tried: ownership.yaml declares no relation `sister` of papers: declare it, or name one of `owner`, `colleague`, `draft`, `finished`",
      "can't be tried: a caller without credentials has no object of their own: write `-`",
      "can't be tried: views.yaml has no view `wide` of papers: declare it, or name one of `short`, `long`",
      "can't be tried: roles.yaml declares no role `ghost`: declare it, or name one of `member`, `keeper`, `picker`",
      "can't be tried: roles.yaml declares no role `Member`: declare it, or name one of `member`, `keeper`, `picker`; did you mean `member`?",
      "can't be tried: `[own]` is only for lists, but GET `/papers/{id}` (draft+owner) does not give one: omit it",
      "can't be tried: ownership.yaml declares no relation `drafts` of papers: declare it, or name one of `owner`, `colleague`, `draft`, `finished`; did you mean `draft`?",
      "can't be tried: there is no body file `bodies/none-such.json`",
      "can't be tried: no object of papers can exist with exactly the relation `owner` to this caller, but one can be made with `owner+draft`",
      "can't be tried: `/profile` is only about the caller's own record: do not write `other`",
    ])
  })

  it('a failed cell keeps the request and the answer, without the token', async () => {
    const [cell] = cellsOf('method,path,object,member\nGET,/papers/{id},finished,200')
    if (!cell) throw new Error('no cell')
    const { exchanges, explain } = await runCell(server.suite, server, cell)
    expect(exchanges).to.have.length(1)
    expect(exchanges[0]?.request.headers.authorization).to.equal('Bearer ***')
    expect(exchanges[0]?.answer?.status).to.equal(403)
    expect(JSON.stringify(exchanges)).not.to.match(/eyJ/)
    expect(explain).to.equal(
      "npm run -s sallyport -- policy explain --role member GET '/papers/{id}' --relation finished",
    )
  })

  it('a failed cell of a write names the command that explains the write, before and after', async () => {
    const [change, created, other] = await Promise.all(
      cellsOf(`method,path,object,becomes,member
        PATCH,/papers/{id},own+draft,draft>finished,418
        POST,/papers,none,own+draft,418
        PATCH,/papers/{id},draft,other>own,418`).map(async (cell) => {
        return (await runCell(server.suite, server, cell)).explain?.replace(/^.* explain /, '')
      }),
    )
    expect(change).to.equal("--role member PATCH '/papers/{id}' --relation draft+owner --becomes 'draft>finished'")
    expect(created).to.equal('--role member POST /papers --relation draft+owner')
    expect(other).to.equal("--role member PATCH '/papers/{id}' --relation draft --becomes 'none>owner'")
  })

  /** What isn't as expected, in the order of the cells; ids are alike. */
  async function tried(text: string): Promise<readonly string[]> {
    const results = await Promise.all(cellsOf(text).map((cell) => runCell(server.suite, server, cell)))
    return results.flatMap(({ outcome, why = '' }) =>
      outcome === 'passed' ? [] : [why.replace(/[0-9a-f-]{36}/g, 'ID').replace(/shows \d+/, 'shows N')],
    )
  }
})

function cellsOf(text: string) {
  return parseMatrix({ name: 'm.csv', text: text.replaceAll(/^ +/gm, '') }, (fault) => {
    throw new Error(formatDiagnostic(fault))
  })
}
