/** What a run tries: cells and cases that the filter leaves, each with its way to run. */
import { createRouteMatcher } from '../../../resources/routing/match-route.ts'
import { readTarget } from '../../../resources/routing/request-target.ts'
import type { Suite } from '../predict/suite.ts'
import type { Case } from '../read/cases.ts'
import { columnText, type Expectation } from '../read/expectation.ts'
import { CannotSetUp, type LentTarget, type TestTarget } from '../target/test-target.ts'
import type { Result } from './result.ts'
import { runCase } from './run-case.ts'
import { runCell, titleOf, withoutTarget } from './run-cell.ts'

/** One thing to try. */
export interface Trial {
  readonly title: string
  /** Lists run first: they are short while the store is nearly empty. */
  readonly first: boolean
  run(): Promise<Result>
  /** The result of a trial that the run never started. */
  leaveOut(): Result
}

/** Empty or absent members don't restrict. */
export interface Filter {
  /** In a cell's title: `GET /api/orders/{id} (own) as member is 200`. */
  readonly only?: RegExp
  /** Columns that hold one of these roles, or whose text is one of these words. */
  readonly roles: readonly string[]
  readonly resources: readonly string[]
}

export function matches({ only, roles, resources }: Filter, { resources: known }: Suite, one: Expectation): boolean {
  const { column } = one
  const names = column.kind === 'roles' ? column.roles : []
  const route = known.routes.find(({ path }) => path === one.path)
  return (
    (only?.test(titleOf(one)) ?? true) &&
    (roles.length === 0 || roles.some((role) => names.includes(role) || role === columnText(column))) &&
    (resources.length === 0 || (route !== undefined && resources.includes(route.resource)))
  )
}

const LEFT_OUT = {
  outcome: 'left-out',
  why: 'the run ended before its turn',
  exchanges: [],
  milliseconds: 0,
} as const

/** `lend` gives each cell a target. */
export function cellTrials(
  suite: Suite,
  lend: (expectation: Expectation) => Promise<LentTarget>,
  expectations: readonly Expectation[],
): readonly Trial[] {
  return expectations.map((expectation) => ({
    title: titleOf(expectation),
    first: expectation.object.kind === 'none' && expectation.method === 'GET',
    run: async () => {
      const lent = await lend(expectation).catch((error) => {
        if (error instanceof CannotSetUp) return error
        throw error
      })
      if (lent instanceof CannotSetUp) return withoutTarget(expectation, lent.message)
      return runCell(suite, lent.target, expectation).finally(lent.release)
    },
    leaveOut: () => ({
      ...LEFT_OUT,
      kind: 'cell',
      title: titleOf(expectation),
      place: expectation.place,
      expectation,
    }),
  }))
}

export function caseTrials(suite: Suite, target: TestTarget, cases: readonly Case[]): readonly Trial[] {
  return cases.map((one) => ({
    title: one.name,
    first: false,
    run: () => runCase(suite, target, one),
    leaveOut: () => ({ ...LEFT_OUT, kind: 'case', title: one.name, place: one.place }),
  }))
}

/**
 * A case is kept or dropped as a whole. It is kept if one of its steps is about a wanted resource and one of its
 * callers holds a wanted role.
 */
export function matchesCase({ only, roles, resources }: Filter, { resources: known }: Suite, one: Case): boolean {
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
