/** Random callers and objects over the resources of fixture.ts, with few values so that they often meet. */
import fc from 'fast-check'
import type { Json, OracleCaller, Plain } from './world.ts'

/** `a` is a role as well, the others need quotes in CSV or are special to Casbin's reader. */
export const IDS = ['u1', 'u2', 'a', 'a,b', 'say "hi"', '(x'] as const
export const ROLES = ['a', 'b', 'c', 'd', 'e'] as const

// ---- Callers --------------------------------------------------------------------------------------------------------

const attributes: fc.Arbitrary<Plain> = fc.record(
  {
    team: fc.constantFrom<Json>('red', 'blue', '', null),
    level: fc.constantFrom<Json>(0, 1, '1', null),
    lit: fc.constantFrom<Json>(true, false, 'true', 0),
    id: fc.constantFrom<Json>('u1', 'u2'),
  },
  { requiredKeys: [] },
)

const authenticated: fc.Arbitrary<OracleCaller> = fc
  .record({
    id: fc.constantFrom('u1', 'u1', 'u2', ...IDS),
    roles: fc.subarray([...ROLES, 'ghost', 'everyone', 'anonymous', 'user:u1', 'constructor'], { maxLength: 4 }),
    claims: attributes,
    record: fc.option(attributes, { nil: undefined }),
  })
  .map(({ record, ...caller }) => (record ? { ...caller, record: { ...record, id: caller.id } } : caller))

export const randomCaller: fc.Arbitrary<OracleCaller> = fc.oneof(
  { weight: 9, arbitrary: authenticated },
  { weight: 1, arbitrary: fc.constant({ roles: [], claims: {} }) },
)

// ---- Objects --------------------------------------------------------------------------------------------------------

const who = fc.constantFrom<Json>(...IDS, null)

/** A document of `docs`: fields are missing, null, or (where no column holds them) of another type than declared. */
export const randomDocument: fc.Arbitrary<Plain> = fc.record(
  {
    ownerId: who,
    members: fc.oneof(fc.array(who, { maxLength: 3 }), who),
    team: fc.constantFrom<Json>('red', 'blue', '', null, ['red', 'blue'], 1),
    status: fc.constantFrom<Json>('draft', 'done', '', null),
    count: fc.constantFrom<Json>(0, 1, 2, null),
    open: fc.constantFrom<Json>(true, false, null),
    secret: fc.constantFrom<Json>('s1', 's2'),
    extra: fc.constantFrom<Json>({ a: [1, null] }, { a: [1, 2] }, null),
  },
  { requiredKeys: [] },
)

/** A whole object of `docs`; its id may be a caller's. */
export const randomObject: fc.Arbitrary<Plain> = fc
  .tuple(fc.constantFrom('o1', 'u1', 'u2'), randomDocument)
  .map(([id, document]) => ({
    id,
    createdAt: '2026-01-01T00:00:00.000Z',
    updatedAt: '2026-01-02T00:00:00.000Z',
    ...document,
  }))
