/** A method with more states and transitions than a person reads: its rows are merged, and say as much as all of them. */

import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { parsePolicy } from '../../../src/policy/parse/parse-policy.ts'
import { loadResources } from '../../../src/resources/load/load-resources.ts'
import type { Resources } from '../../../src/resources/resource.ts'
import { type LoadedPolicy, loadPolicy } from '../../../src/tools/load-policy.ts'
import type { MatrixCell } from '../../../src/tools/permissions/cell.ts'
import { MATRIX_FORMATS } from '../../../src/tools/permissions/formats.ts'
import { buildMatrix, chooseColumns, type Matrix } from '../../../src/tools/permissions/matrix.ts'
import type { MatrixRow } from '../../../src/tools/permissions/merge-rows.ts'
import { planRows, type RowPlan } from '../../../src/tools/permissions/rows.ts'
import { fitsRow } from './merged.ts'

const EXAMPLE = new URL('../../../examples/projects/', import.meta.url)
const TASKS = new Set(['tasks'])
const NOW = Date.now()

/** As many different states of tasks are compared with the rows that `--relation` shows of each. */
const COMPARED = 64

describe('merged rows', () => {
  let reviewed: LoadedPolicy
  let resources: Resources
  let plans: readonly RowPlan[]
  let matrix: Matrix
  let merged: readonly MatrixRow[]

  before(async () => {
    resources = await loadResources(fileURLToPath(new URL('schemas', EXAMPLE)))
    reviewed = await loadPolicy(fileURLToPath(new URL('policies', EXAMPLE)), resources)
    plans = planRows(reviewed.policy, resources, { only: TASKS, relations: undefined })
    matrix = matrixAbout()
    merged = matrix.rows.filter(({ states }) => states !== undefined)
  })

  function matrixAbout(relations?: ReadonlySet<string>): Matrix {
    const columns = chooseColumns(reviewed.policy, [])
    return buildMatrix(reviewed, { resources, columns, only: TASKS, relations, now: NOW })
  }

  it('are few, and of this one method', () => {
    expect(merged.map(({ methods, path }) => `${methods} ${path}`)).to.include('PATCH /tasks/{id}')
    expect(new Set(merged.map(({ path, action }) => `${action} ${path}`)).size).to.equal(1)
    expect(plans.filter(({ action }) => action.name === 'update').length).to.be.above(10_000)
    expect(merged.length).to.be.below(100)
  })

  it('leave no state and no transition out, and count those that they stand for', () => {
    const updates = plans.filter(({ action }) => action.name === 'update')
    expect(updates.filter((plan) => !merged.some((row) => fitsRow(plan, row)))).to.deep.equal([])
    for (const row of merged) {
      expect(updates.filter((plan) => fitsRow(plan, row)).length, `${row.relation}>${row.becomes}`).to.equal(row.states)
    }
  })

  it('answer every caller as the rows of each object do, by rules that they name', () => {
    const states = plans.filter(({ action, transition }) => action.name === 'update' && !transition)
    const every = Math.ceil(states.length / COMPARED)
    let compared = 0
    for (const { relations } of states.filter((_, i) => i % every === 0)) {
      const about = planRows(reviewed.policy, resources, { only: TASKS, relations })
      for (const [i, exact] of matrixAbout(relations).rows.entries()) {
        const plan = about[i]
        const fitting = plan?.action.name === 'update' ? merged.filter((row) => fitsRow(plan, row)) : []
        for (const row of fitting) {
          compared += 1
          expect(row.cells.map(answerOf), `${exact.relation}>${exact.becomes}`).to.deep.equal(exact.cells.map(answerOf))
          const named = row.cells.map(({ rules }) => new Set(rules))
          expect(exact.cells.every(({ rules }, at) => rules.every((rule) => named[at]?.has(rule)))).to.equal(true)
        }
      }
    }
    expect(compared).to.be.above(COMPARED * 30)
  })

  it('say in every form what they stand for', () => {
    const [json, page, table] = (['json', 'html', 'table'] as const).map((form) => MATRIX_FORMATS[form](matrix))
    const rows: readonly { relation: string; states?: number }[] = JSON.parse(json ?? '').rows
    expect(rows.find(({ relation }) => relation === '!tenant+…')?.states).to.be.above(200)
    expect(page).to.include("tenant doesn't hold; other relations make no difference.")
    expect(table).to.include("owner holds and draft doesn't; other relations make no difference")
  })

  it('are refused in one sentence where there is too much to decide', () => {
    const all = 'tenant+lead+writer+team+mine+assigned+urgent'
    const text = `p, member, tasks, update, ${all}+open>${all}+done, *, allow\n`
    const files = { ...reviewed.files, 'policy.csv': { name: 'policy.csv', text } }
    const policy = parsePolicy(files, resources)
    expect(() => planRows(policy, resources, { only: TASKS, relations: undefined })).to.throw(
      /^rules about `update` on `tasks` distinguish 147456 transitions, too many for a matrix: name the relations .* --relation/,
    )
  })
})

/** Whether a denied cell lacks an allow or meets a deny differs within a merged row. */
function answerOf({ outcome, granted, fields, views, until, conditions }: MatrixCell) {
  return { outcome, granted, fields, views, until, conditions }
}
