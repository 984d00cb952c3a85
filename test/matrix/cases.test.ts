/** Cases in steps: how they are read, and what is said of those that aren't as expected. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { readCases } from '../../src/tools/matrix/read/cases.ts'
import { runCase } from '../../src/tools/matrix/run/run-case.ts'
import { type MatrixServer, startMatrixServer } from './matrix-server.ts'

describe('a case in steps', () => {
  let server: MatrixServer

  before(async () => {
    server = await startMatrixServer([])
  })
  after(() => server.stop())

  it('that is faulty is told with the place of every fault', async () => {
    const text = `- name: first
  callers: { bob: anonymous, 'x y': member, sam: '+' }
  steps:
    - { as: eve, method: GET, path: /a, expect: { status: 200 } }
- name: second
  steps: []
  more: 1
`
    expect(await reading(text)).to.match(/:7:3: `more` is not known here/)
    expect(await reading(text)).to.match(/:6:3: `steps` must not be empty/)
    expect(await reading(text)).to.match(/:2:\d+: the name `x y` must be letters, digits/)
    const callers = await reading(
      "- name: a\n  callers: { bob: anonymous, sam: '+' }\n  steps:\n    - { as: eve, method: GET, path: /a, expect: { status: 200 } }\n",
    )
    expect(callers).to.match(/:2:14: `anonymous` is not a caller with credentials/)
    expect(callers).to.match(/:2:30: `\+` is not a caller with credentials/)
    expect(callers).to.match(/:4:9: the case has no caller `eve`/)
  })

  it('says which step differs and how, and ends there', async () => {
    expect(await told('as: bob, method: GET, path: /api/v1/notes, expect: { status: 403 }')).to.equal(
      'step 2 (GET /api/v1/notes as bob): expected 403, got 200',
    )
    expect(
      await told("as: alice, method: GET, path: '/api/v1/notes/{note}', expect: { status: 200, fields: [id, title] }"),
    ).to.match(/expected the fields `id`, `title`, got `id`, `ownerId`, `title`, `createdAt`, `updatedAt`/)
    expect(
      await told("as: alice, method: GET, path: /api/v1/notes, expect: { status: 200, headers: { etag: '*' } }"),
    ).to.match(/the answer has no header `etag`/)
    expect(
      await told('as: alice, method: GET, path: /api/v1/notes, expect: { status: 200, headers: { vary: Accept } }'),
    ).to.match(/the header `vary` is `Authorization, Accept`, not `Accept`/)
    expect(await told('as: bob, method: GET, path: /api/v1/notes, expect: { status: 200, fields: [id] }')).to.match(
      /the list has no rows/,
    )
    expect(
      await told('as: bob, method: GET, path: /api/v1/notes, expect: { status: 200 }, save: { x: /items/0/id }'),
    ).to.match(/the answer has nothing at `\/items\/0\/id` to save as `x`/)
  })

  it('names the rows of a list, among the objects that its steps created', async () => {
    const list = (as: string, rows: string) =>
      told(`as: ${as}, method: GET, path: /api/v1/notes, expect: { status: 200, rows: ${rows} }`)
    expect(await list('alice', "['{note}']")).to.equal('passed')
    expect(await list('bob', '[]')).to.equal('passed')
    expect(await list('alice', '[]')).to.match(/: the list also shows `\{note\}`$/)
    expect(await list('bob', "['{note}']")).to.match(/: the list lacks `\{note\}`$/)
    expect(await list('bob', "['{other}']")).to.match(/^can't be tried: `other` is neither a caller nor saved/)
    expect(
      await told("as: alice, method: GET, path: '/api/v1/notes/{note}', expect: { status: 200, rows: [] }"),
    ).to.match(/the answer is not a list/)
    expect(
      await told("as: alice, method: GET, path: '/api/v1/notes?limit=1', expect: { status: 200, rows: ['{note}'] }"),
    ).to.equal('passed')
  })

  it("that can't be tried says why", async () => {
    const path = '/api/v1/notes'
    expect(await told(`as: bob, method: GET, path: '${path}/{nobody}', expect: { status: 200 }`)).to.equal(
      "can't be tried: `nobody` is neither a caller nor saved by an earlier step: add it to callers or to save",
    )
    expect(await told(`as: bob, method: GET, path: ${path}, expect: { status: 200, view: wide }`)).to.equal(
      "can't be tried: views.yaml has no view `wide` of notes: declare it",
    )
    const elsewhere = 'as: bob, method: GET, path: /nowhere, expect: { status: 404, view: wide }'
    expect(await told(elsewhere)).to.equal(
      "can't be tried: the path is of no resource, so it has no view `wide`: remove the view",
    )
    expect(await told(`as: bob, method: GET, path: ${path}, expect: { status: 200 }`, 'ghost')).to.equal(
      "can't be tried: roles.yaml declares no role `ghost`",
    )
    expect(await told(`as: bob, method: GET, path: ${path}, expect: { status: 200 }`)).to.equal('passed')
  })

  /** A note of alice's, and then this step. */
  async function told(step: string, role = 'member'): Promise<string> {
    const file = written(`- name: a case
  callers: { alice: member, bob: ${role} }
  steps:
    - { as: alice, method: POST, path: /api/v1/notes, body: { title: t }, expect: { status: 201 }, save: { note: /id } }
    - { ${step} }
`)
    const [one] = await readCases([file])
    if (!one) throw new Error('no case')
    const { why, outcome } = await runCase(server.suite, server.target, one)
    return why ?? outcome
  }
})

function reading(text: string): Promise<string> {
  return readCases([written(text)]).then(
    () => 'read',
    (error: Error) => error.message,
  )
}

function written(text: string): string {
  const file = join(mkdtempSync(join(tmpdir(), 'sallyport-case-')), 'case.yaml')
  writeFileSync(file, text)
  return file
}
