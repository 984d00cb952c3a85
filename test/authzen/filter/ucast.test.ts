/** A condition as UCAST, read by the interpreter of @ucast/js, holds for the rows whose objects meet it. */
import { interpret } from '@ucast/js'
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import { instantOf } from '../../../src/base/time.ts'
import { type Condition, meets } from '../../../src/decide/conditions/condition.ts'
import type { Json, Representation } from '../../../src/resources/resource.ts'
import { Unsupported } from '../../../src/server/authzen/filter/condition-sql.ts'
import { fitTypes } from '../../../src/server/authzen/filter/read-mapping.ts'
import { type Ucast, ucastOfCondition } from '../../../src/server/authzen/filter/ucast.ts'
import { runs } from '../../runs.ts'
import { randomCondition } from './typed-conditions.ts'
import { ITEMS, KINDS, named, sampleRows } from './typed-rows.ts'

const ROWS = sampleRows(
  Array.from({ length: 60 }, (_, i) => `o${i}`),
  'postgresql',
).map(asRow)

/** As a driver gives it: null where there is no value, and date-times in one form. */
function asRow(object: Representation): Representation {
  const { points, flags, marks, ...typed } = object
  const times = KINDS.filter(({ field }) => field.time).map(({ field: { name } }) => [name, timesIn(typed[name])])
  return { ...typed, ...Object.fromEntries(times) }
}

function timesIn(value: Json | undefined): Json {
  if (Array.isArray(value)) return value.map(timesIn)
  const text = typeof value === 'string' ? instantOf(value) : undefined
  // The last day of four-digit years holds no time.
  return text === undefined ? null : (instantOf(text) ?? null)
}

/** The values that a row doesn't have. */
const SEEN = ['points', 'flags', 'marks']

const aboutRows = randomCondition.filter((condition) => !SEEN.some((name) => JSON.stringify(condition).includes(name)))

function translated(condition: Condition): Ucast {
  const unsupported = new Unsupported()
  const ucast = ucastOfCondition(fitTypes(condition, ITEMS, named), { resource: ITEMS, unsupported })
  expect(unsupported.reasons).to.deep.equal([])
  return JSON.parse(JSON.stringify(ucast)) as Ucast
}

type Interpreter = (ucast: Ucast, row: Representation) => boolean

const byLibrary: Interpreter = (ucast, row) => interpret(ucast as unknown as Parameters<typeof interpret>[0], row)

const holdsWhereMet = (holds: Interpreter, change = (ucast: Ucast) => ucast) =>
  fc.property(aboutRows, (condition) => {
    const ucast = change(translated(condition))
    const holding = ROWS.filter((row) => holds(ucast, row))
    expect(holding).to.deep.equal(ROWS.filter((row) => meets(condition, row)))
  })

describe('a condition as UCAST', () => {
  it('holds for exactly the rows that meet it', () => fc.assert(holdsWhereMet(byLibrary), { numRuns: runs(2000) }))

  it('holds for the same rows where NULL is neither true nor false', () =>
    fc.assert(holdsWhereMet(byThreeValues), { numRuns: runs(2000) }))

  it('is compared so that a negation without a branch for null is found out', () => {
    const outcome = fc.check(holdsWhereMet(byThreeValues, withoutNullBranches), { numRuns: 5000 })
    expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
  })

  it('is compared so that bounds are found out that take null for a number', () => {
    const outcome = fc.check(holdsWhereMet(byLibrary, withoutGuards), { numRuns: 5000 })
    expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
  })
})

/** As SQL would: a comparison with null is unknown, and so is the negation of unknown. Lists are left to the library. */
const byThreeValues: Interpreter = (ucast, row) => threeValued(ucast, row) === true

function threeValued(ucast: Ucast, row: Representation): boolean | undefined {
  if (ucast.type === 'compound') {
    const parts = ucast.value.map((part) => threeValued(part, row))
    if (ucast.operator === 'not') return parts[0] === undefined ? undefined : !parts[0]
    const deciding = ucast.operator === 'or'
    if (parts.includes(deciding)) return deciding
    return parts.includes(undefined) ? undefined : !deciding
  }
  const value = row[ucast.field] ?? null
  if (Array.isArray(value) || ucast.value === null || value !== null) return byLibrary(ucast, row)
  return ucast.operator === 'elemMatch' ? false : undefined
}

function withoutNullBranches(ucast: Ucast): Ucast {
  if (ucast.type === 'field') return ucast
  const isBranch = (part: Ucast) => part.type === 'field' && part.operator === 'eq' && part.value === null
  const hasNegation = ucast.value.some((part) => part.type === 'compound' && part.operator === 'not')
  const kept = ucast.operator === 'or' && hasNegation ? ucast.value.filter((part) => !isBranch(part)) : ucast.value
  return { ...ucast, value: kept.map(withoutNullBranches) }
}

function withoutGuards(ucast: Ucast): Ucast {
  if (ucast.type === 'field') return ucast
  const isGuard = (part: Ucast) => part.type === 'field' && part.operator === 'ne' && part.value === null
  const kept = ucast.operator === 'and' ? ucast.value.filter((part) => !isGuard(part)) : ucast.value
  return { ...ucast, value: kept.map(withoutGuards) }
}
