/** A matrix says what the oracle says: at every method and path, for every caller and every way to relate to an object. */

import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import type { Policy } from '../../../src/decide/policy.ts'
import type { MatrixCell } from '../../../src/tools/permissions/cell.ts'
import type { Matrix } from '../../../src/tools/permissions/matrix.ts'
import type { MatrixRow } from '../../../src/tools/permissions/merge-rows.ts'
import { randomCaller, randomObject } from '../../policy/arbitrary.ts'
import { randomPolicy, type WrittenPolicy } from '../../policy/arbitrary-policy.ts'
import { granted, grantedWithoutObject, onObject, relationsOf, roleLevel } from '../../policy/oracle.ts'
import { worldOf } from '../../policy/product.ts'
import type { OracleCaller, OraclePolicy, World } from '../../policy/world.ts'
import { runs } from '../../runs.ts'
import { matrixOf, routed } from './fixture.ts'

const RUNS = { numRuns: runs(150) }

/** What the oracle says about a cell, as the fields that it grants; none is a refusal. */
function expected(world: World, row: MatrixRow, relations: ReadonlySet<string>): ReadonlySet<string> {
  const anonymous = world.caller.id === undefined
  if (row.action === 'options' || world.resource.builtIn) return grantedWithoutObject(world, row.action)
  if (anonymous && (row.path === '/mine' || comparesCaller(world.policy, relations))) return new Set()
  if (row.path === '/old/{id}') return new Set(roleLevel(world, row.action) ? ['*'] : [])
  const fields = granted(world, row.action, relations)
  const view = world.policy.views.get('docs')?.get(row.view ?? '')
  const shows = row.action === 'read' || row.action === 'list'
  return view && shows ? new Set([...fields].filter((field) => view.includes(field))) : fields
}

function comparesCaller({ relations }: OraclePolicy, holding: ReadonlySet<string>): boolean {
  return [...(relations.get('docs') ?? []), ...(relations.get('jobs') ?? [])].some(
    ([name, relation]) => holding.has(name) && 'equals' in relation,
  )
}

function setOf({ relation }: MatrixRow): ReadonlySet<string> {
  return new Set(['-', 'any', 'none'].includes(relation) ? [] : relation.split('+'))
}

/** A column stands for callers who have all attributes. */
function callerOf(name: string): OracleCaller {
  const claims = { team: 'red', level: 7, lit: true }
  if (name === 'anonymous') return { roles: [], claims: {} }
  if (name.startsWith('user:')) return { id: name.slice('user:'.length), roles: [], claims }
  return { id: 'nobody-in-particular', roles: name === 'everyone' ? [] : [name], claims }
}

function viewIn({ data }: WrittenPolicy): string | undefined {
  return [...(data.views.get('docs')?.keys() ?? [])][0]
}

function saysWhatTheOracleSays(instead: (policy: Policy) => Policy) {
  return fc.property(randomPolicy, (written) => {
    const resources = routed(viewIn(written))
    const { columns, rows } = matrixOf({ files: written.files, resources, instead })
    for (const row of rows) {
      const resource = resources.byName.get(row.resource)
      if (!resource) throw new Error(`no resource ${row.resource}`)
      row.cells.forEach((cell, i) => {
        const name = columns[i]?.name ?? ''
        const fields = expected(worldOf(written.data, resource, callerOf(name)), row, setOf(row))
        expectCell(cell, fields, `${name}: ${row.methods} ${row.path} ${row.relation}`)
      })
    }
  })
}

function expectCell(cell: MatrixCell, fields: ReadonlySet<string>, what: string): void {
  expect(cell.outcome, what).to.equal(fields.size > 0 ? 'allowed' : 'denied')
  expect(cell.fields, what).to.deep.equal([...fields].filter((field) => field !== '*').sort())
}

describe('the cells of a matrix', () => {
  it('are what the oracle says, on every route, for every caller and relation', () => {
    fc.assert(
      saysWhatTheOracleSays((policy) => policy),
      RUNS,
    )
  })

  const wrong: Readonly<Record<string, (policy: Policy) => Policy>> = {
    'forgets a rule': (policy) => ({ ...policy, rules: policy.rules.slice(1) }),
    'takes a deny for nothing': (policy) => ({ ...policy, rules: policy.rules.filter((r) => r.effect === 'allow') }),
    'asks no relation': (policy) => ({ ...policy, rules: policy.rules.map((rule) => ({ ...rule, before: [] })) }),
  }
  for (const [fault, instead] of Object.entries(wrong)) {
    it(`a matrix is found out that ${fault}`, () => {
      const outcome = fc.check(saysWhatTheOracleSays(instead), { seed: 1, numRuns: 300, endOnFailure: true })
      expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
    })
  }

  it('hold for every object: the row for how a caller relates to it says what the oracle says about it', () => {
    fc.assert(
      fc.property(randomPolicy, randomCaller, randomObject, (written, caller, object) => {
        const resources = routed(undefined)
        const world = worldOf(written.data, required(resources.byName.get('docs')), caller)
        const matrix = matrixOf({ files: written.files, resources, callers: [columnFor(caller, written.data)] })
        const holding = relationsOf(world, object)
        for (const row of rowsFor(matrix, holding)) {
          const [cell] = row.cells.slice(-1)
          expectCell(required(cell), onObject(world, row.action, object), `${row.methods} ${row.path}`)
        }
      }),
      { numRuns: runs(300) },
    )
  })
})

/** A caller's declared roles and id, as --role takes them; users are asked for with a role, so that one is combined. */
function columnFor({ id, roles }: OracleCaller, { roles: declared }: OraclePolicy): string {
  if (id === undefined) return 'anonymous'
  return [...roles.filter((role) => declared.includes(role)), `user:${id}`].join('+')
}

/** Of each method of the item and the collection, the row whose relations are those that hold and that rules name. */
function rowsFor({ rows }: Matrix, holding: ReadonlySet<string>): readonly MatrixRow[] {
  const about = rows.filter(({ path, action }) => /^\/docs(\/\{id\})?$/.test(path) && action !== 'options')
  return [...Map.groupBy(about, ({ methods, path }) => `${methods} ${path}`).values()].map((some) => {
    const named = new Set(some.flatMap((row) => [...setOf(row)]))
    const wanted = holding.intersection(named)
    return required(some.find((row) => setOf(row).symmetricDifference(wanted).size === 0))
  })
}

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('missing')
  return value
}
