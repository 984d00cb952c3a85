/** Expectations as trials: those that a run is narrowed to, on a stage. */

import { columnText, type Expectation } from '../read/expectation.ts'
import type { Lease } from '../target/test-target.ts'
import type { Ground } from './bind.ts'
import type { Trial } from './run-all.ts'
import { runCell, titleOf } from './run-cell.ts'

/** What doesn't restrict is empty or absent. */
export interface Filter {
  /** In a cell's title: `GET /api/orders/{id} (own) as member is 200`. */
  readonly only?: RegExp
  /** Columns that hold one of these roles, or are written so. */
  readonly roles: readonly string[]
  readonly resources: readonly string[]
}

export function matches({ only, roles, resources }: Filter, { resources: known }: Ground, one: Expectation): boolean {
  const { column } = one
  const names = column.kind === 'roles' ? column.roles : []
  const route = known.routes.find(({ path }) => path === one.path)
  return (
    (only?.test(titleOf(one)) ?? true) &&
    (roles.length === 0 || roles.some((role) => names.includes(role) || role === columnText(column))) &&
    (resources.length === 0 || (route !== undefined && resources.includes(route.resource)))
  )
}

/** `lend` gives each cell a stage to be tried on. */
export function cellTrials(
  ground: Ground,
  lend: (expectation: Expectation) => Promise<Lease>,
  expectations: readonly Expectation[],
): readonly Trial[] {
  return expectations.map((expectation) => ({
    title: titleOf(expectation),
    first: expectation.object.kind === 'none' && expectation.method === 'GET',
    run: async () => {
      const { stage, release } = await lend(expectation)
      return runCell(ground, stage, expectation).finally(release)
    },
    leaveOut: () => ({
      kind: 'cell',
      title: titleOf(expectation),
      place: expectation.place,
      outcome: 'left-out',
      why: 'the run ended before its turn',
      exchanges: [],
      milliseconds: 0,
      expectation,
    }),
  }))
}
