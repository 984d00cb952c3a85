/** Cases as trials: those that a run is narrowed to, on a stage. */

import { createRouteMatcher } from '../../../resources/routing/match-route.ts'
import { readTarget } from '../../../resources/routing/request-target.ts'
import type { Case } from '../read/case.ts'
import { columnText } from '../read/expectation.ts'
import type { Stage } from '../target/server-under-test.ts'
import type { Ground } from './bind.ts'
import type { Filter } from './cell-trials.ts'
import type { Trial } from './run-all.ts'
import { runCase } from './run-case.ts'

export function caseTrials(ground: Ground, stage: Stage, cases: readonly Case[]): readonly Trial[] {
  return cases.map((one) => ({
    title: one.name,
    first: false,
    run: () => runCase(ground, stage, one),
    leaveOut: () => ({
      kind: 'case',
      title: one.name,
      place: one.place,
      outcome: 'left-out',
      why: 'the run ended before its turn',
      exchanges: [],
      milliseconds: 0,
    }),
  }))
}

/** A case is kept whole: for a resource that one of its steps is about, and a role that one of its callers holds. */
export function matchesCase({ only, roles, resources }: Filter, { resources: known }: Ground, one: Case): boolean {
  const match = createRouteMatcher(known.routes)
  const about = one.steps.flatMap(({ path }) => {
    const found = match('GET', readTarget(path.replaceAll(/\{[^}]*\}/g, 'id')))
    return 'route' in found ? [found.route.resource] : []
  })
  const columns = [...one.callers.values()]
  return (
    (only?.test(one.name) ?? true) &&
    (resources.length === 0 || about.some((name) => resources.includes(name))) &&
    (roles.length === 0 ||
      columns.some(
        (column) =>
          roles.includes(columnText(column)) ||
          (column.kind === 'roles' && column.roles.some((role) => roles.includes(role))),
      ))
  )
}
