/** Which rows and columns a matrix has, and what a cell says beside yes and no. */
import { expect } from 'chai'
import type { PolicyFileName } from '../../../src/policy/policy-files.ts'
import { ToolError } from '../../../src/tools/load-policy.ts'
import type { MatrixCell } from '../../../src/tools/permissions/cell.ts'
import type { Matrix } from '../../../src/tools/permissions/matrix.ts'
import { markOf } from '../../../src/tools/permissions/words.ts'
import { filesOf } from '../../policy/render.ts'
import { matrixOf, routed, type Written } from './fixture.ts'

const ROLES = 'a: { description: The a. }\nb: { description: The b. }\n'
const OWNERSHIP = `docs:
  relations:
    self: id
    owner: ownerId
    draft: { field: status, in: [draft] }
    done: { field: status, in: [done] }
`
const VIEWS = 'docs: { few: [id, secret], team: [team], open: [open] }\n'

function matrix(
  rules: string,
  more: Omit<Partial<Written>, 'files'> & Partial<Record<PolicyFileName, string>> = {},
): Matrix {
  const texts = { 'roles.yaml': ROLES, 'ownership.yaml': OWNERSHIP, 'views.yaml': VIEWS, ...more, 'policy.csv': rules }
  return matrixOf({ ...more, files: filesOf(texts) })
}

function cellOf(
  { columns, rows }: Matrix,
  caller: string,
  method: string,
  path: string,
  relation?: string,
): MatrixCell {
  const row = rows.find(
    (one) =>
      one.path === path &&
      one.methods.some((m) => m === method) &&
      (relation === undefined || one.relation === relation),
  )
  const cell = row?.cells[columns.findIndex(({ name }) => name === caller)]
  if (!cell) throw new Error(`no cell for ${caller} ${method} ${path} ${relation}`)
  return cell
}

function relationsOf({ rows }: Matrix, method: string, path: string): readonly string[] {
  return rows.filter((row) => row.path === path && row.methods.some((m) => m === method)).map((row) => row.relation)
}

const lines = ({ rules }: MatrixCell) => rules.map(({ line }) => line)

describe('the rows of a matrix', () => {
  it('are the ways to relate that rules tell apart, and no object can relate in two states of one field', () => {
    const made = matrix('p, a, docs, read, owner+draft, *, allow\np, a, docs, read, done, *, allow')
    const rows = ['none', 'owner', 'draft', 'done', 'owner+draft', 'owner+done']
    expect(relationsOf(made, 'GET', '/docs/{id}')).to.deep.equal(rows)
  })

  it('are one where no rule asks how the caller relates, and one where the request concerns no object', () => {
    const made = matrix('p, a, docs, *, any, *, allow')
    expect(relationsOf(made, 'DELETE', '/docs/{id}')).to.deep.equal(['any'])
    expect(relationsOf(made, 'OPTIONS', '/docs/{id}')).to.deep.equal(['-'])
    expect(relationsOf(made, 'GET', '/livez')).to.deep.equal(['-'])
  })

  it("relate to the caller's own record as one must", () => {
    const made = matrix('p, a, docs, read, self, *, allow')
    expect(relationsOf(made, 'GET', '/docs/{id}')).to.deep.equal(['none', 'self'])
    expect(relationsOf(made, 'GET', '/mine')).to.deep.equal(['self'])
  })

  it('hold HEAD with GET, and stand in an order of their own, whatever the order of rules', () => {
    const rules = [
      'p, b, docs, read, draft, *, allow',
      'p, a, docs, read, owner, *, allow',
      'p, user:z, jobs, *, any, *, deny',
    ]
    const heads = ({ rows }: Matrix) => rows.map(({ cells: _, ...head }) => head)
    expect(heads(matrix(rules.join('\n')))).to.deep.equal(heads(matrix(rules.toReversed().join('\n'))))
    const paths = matrix('').rows.map(({ methods, path }) => `${methods} ${path}`)
    expect(paths.slice(0, 3)).to.deep.equal(['GET,HEAD /docs', 'POST /docs', 'OPTIONS /docs'])
    expect(paths.at(-1)).to.equal('OPTIONS /livez')
  })

  it('are not made where rules name more relations than a matrix can show', () => {
    const many = Array.from({ length: 11 }, (_, i) => `r${i}`)
    const ownership = `docs: { relations: { ${many.map((name) => `${name}: ownerId`).join(', ')} } }\n`
    const rules = many.map((name) => `p, a, docs, read, ${name}, *, allow`).join('\n')
    expect(() => matrix(rules, { 'ownership.yaml': ownership })).to.throw(ToolError, /`docs` name 11 relations/)
    expect(() => matrix(rules, { 'ownership.yaml': ownership, only: ['jobs'] })).not.to.throw()
  })
})

describe('the columns of a matrix', () => {
  const rules = 'p, user:z, docs, read, any, *, allow\np, user:c+d, docs, read, any, *, allow\ng, b, a'
  const names = (callers: readonly string[]) => matrix(rules, { callers }).columns.map(({ name }) => name)

  it('are the callers that rules can tell apart', () => {
    expect(names([])).to.deep.equal(['anonymous', 'everyone', 'a', 'b', 'user:c+d', 'user:z'])
  })

  it('are narrowed by a name, and joined by names with a plus', () => {
    expect(names(['b', 'user:new'])).to.deep.equal(['b', 'user:new'])
    expect(names(['b', 'a+b'])).to.deep.equal(['b', 'a+b'])
    expect(names(['a+b'])).to.have.members([...names([]), 'a+b'])
    expect(names(['user:c+d'])).to.deep.equal(['user:c+d'])
  })

  it('of several roles and a user have the rules of all of them', () => {
    const made = matrix('p, a, docs, read, any, few, allow\np, user:c+d, docs, read, any, team, allow', {
      callers: ['b+a+user:c+d'],
    })
    expect(cellOf(made, 'b+a+user:c+d', 'GET', '/docs/{id}').fields).to.deep.equal(['id', 'secret', 'team'])
  })

  for (const name of [
    'ghost',
    'a+ghost',
    'anonymous+a',
    '',
    'a+',
    '+a',
    'user:',
    'user: x',
    `user:${'x'.repeat(129)}`,
  ]) {
    it(`can't be \`${name.slice(0, 20)}\``, () => {
      expect(() => names([name])).to.throw(ToolError)
    })
  }
})

describe('a cell of a matrix', () => {
  it('names the allows that grant and the denies that take, and no other rule', () => {
    const made = matrix(
      'p, a, docs, read, any, few, allow\np, a, docs, read, any, few|team, allow\np, a, docs, read, any, team, deny\n' +
        'p, a, docs, read, any, open, deny\np, b, docs, read, any, *, allow\np, a, docs, read, owner, *, allow',
    )
    expect(lines(cellOf(made, 'a', 'GET', '/docs/{id}', 'none'))).to.deep.equal([1, 2, 3])
    expect(cellOf(made, 'a', 'GET', '/docs/{id}', 'none')).to.include({ outcome: 'allowed', granted: 'some' })
    expect(lines(cellOf(made, 'a', 'GET', '/docs/{id}', 'owner'))).to.deep.equal([1, 2, 3, 4, 6])
    expect(made.rules[0]).to.deep.equal({ line: 1, effect: 'allow', text: 'p, a, docs, read, any, few, allow' })
  })

  it('says why it is denied', () => {
    const rules =
      'p, a, docs, read|list, any, team, allow\np, b, docs, *, any, *, allow\np, b, docs, delete, any, *, deny\n' +
      'p, a, docs, delete, any, *, deny\np, everyone, docs, update, owner, *, allow\np, everyone, docs, read, self, *, allow'
    const made = matrix(rules, {
      resources: routed('few'),
      blocked: 'user:out',
      callers: ['a', 'b', 'anonymous', 'user:out'],
    })
    const reason = (...at: Parameters<typeof cellOf> extends [Matrix, ...infer Rest] ? Rest : never) => {
      const { reason: why, rules: deciding } = cellOf(made, ...at)
      return [why, ...deciding.map(({ line }) => line)]
    }
    expect(reason('a', 'PUT', '/docs/{id}')).to.deep.equal(['no-rule'])
    expect(reason('a', 'DELETE', '/docs/{id}')).to.deep.equal(['no-rule', 4])
    expect(reason('b', 'DELETE', '/docs/{id}')).to.deep.equal(['deny-rule', 3])
    expect(reason('a', 'GET', '/docs/{id}/view', 'none')).to.deep.equal(['outside-view'])
    expect(reason('anonymous', 'GET', '/mine')).to.deep.equal(['needs-credentials'])
    expect(reason('anonymous', 'PATCH', '/docs/{id}', 'owner')).to.deep.equal(['unrelated'])
    expect(reason('user:out', 'GET', '/docs/{id}', 'self')).to.deep.equal(['blocked'])
    expect(reason('user:out', 'OPTIONS', '/docs/{id}')).to.deep.equal(['blocked'])
  })

  it('of somebody blocked until a time is open after it', () => {
    const at = (now: number) =>
      matrix('p, everyone, docs, delete, any, *, allow', {
        blocked: 'user:out until=2026-01-01T00:00:00Z',
        callers: ['user:out'],
        now,
      })
    const until = Date.parse('2026-01-01T00:00:00Z')
    expect(cellOf(at(until - 1), 'user:out', 'DELETE', '/docs/{id}').outcome).to.equal('denied')
    expect(cellOf(at(until), 'user:out', 'DELETE', '/docs/{id}').outcome).to.equal('allowed')
  })

  it('is marked by views where they say exactly what is granted, and counted where they do not', () => {
    const mark = (rules: string) => {
      const made = matrix(rules, { callers: ['a'] })
      const row = made.rows.find(({ path }) => path === '/docs/{id}')
      if (!row?.cells[0]) throw new Error('no cell')
      return markOf(row.cells[0], row)
    }
    expect(mark('p, a, docs, read, any, *, allow')).to.equal('all')
    expect(mark('p, a, docs, read, any, few, allow')).to.equal('few')
    expect(mark('p, a, docs, read, any, team|few, allow')).to.equal('few|team')
    expect(mark('p, a, docs, read, any, *, allow\np, a, docs, read, any, few, deny')).to.equal('9/11')
    expect(mark('')).to.equal('-')
  })
})
