/** What clients may send and read: a change that breaks nobody is never told wrongly, for random schemas. */
import '../seed.ts'
import { expect } from 'chai'
import fc from 'fast-check'
import type { Json, Resource } from '../../src/resources/resource.ts'
import { compareValues } from '../../src/tools/schema/diff/compare-values.ts'
import { anySchema, pairOf, resourceWith, valueFor } from '../resources/random-schemas.ts'
import { drawing, runs } from '../runs.ts'

const TIMES = { createdAt: '2026-01-01T00:00:00.000Z', updatedAt: '2026-01-01T00:00:00.000Z' }
const NOBODY = () => new Set<string>()
const ROUTES = { 'x-resource': { routes: [{ path: '/things', methods: ['GET', 'POST'] }] } }

describe('what clients may send and read', () => {
  it('is never said to be safe wrongly', async () => {
    const told = { sendSafe: 0, readSafe: 0, sendBreaks: 0, readBreaks: 0 }
    const seeds = fc.array(fc.nat(), { minLength: 20, maxLength: 20 })
    const property = fc.property(pairOf(anySchema), seeds, ([old, next], draws) => {
      const sides = resourcesOf(old, next)
      if (!sides) return
      const changes = compareValues(sides.before, sides.after, { before: NOBODY, after: NOBODY })
      const safe = (start: string) => changes.every(({ code }) => !code.startsWith(start))
      told[safe('send-') ? 'sendSafe' : 'sendBreaks'] += 1
      told[safe('read-') ? 'readSafe' : 'readBreaks'] += 1
      if (safe('send-')) refuseMisfits(sides.before, sides.after, { schema: old, draws })
      if (safe('read-')) refuseMisfits(sides.after, sides.opened, { schema: next, draws })
    })
    await drawing(
      () => fc.assert(property, { numRuns: runs(900) }),
      () => {
        expect(Math.min(...Object.values(told)), JSON.stringify(told)).to.be.greaterThan(20)
      },
    )
  })

  it('a wrong answer would be found', () => {
    const [before, after] = [resourceWith({ x: { enum: ['a'] } }), resourceWith({ x: { enum: ['b'] } })]
    expect(() => refuseMisfits(before, after, { schema: { enum: ['a'] }, draws: [1] })).to.throw()
  })
})

/** `opened`: as readers of the old schema understand it, who expect new members. Undefined for refused schemas. */
function resourcesOf(old: Json, next: Json) {
  const readable = JSON.parse(
    JSON.stringify(old).replaceAll('"additionalProperties":false', '"additionalProperties":true'),
  )
  try {
    return {
      before: resourceWith({ x: old }, ROUTES),
      after: resourceWith({ x: next }, ROUTES),
      opened: resourceWith({ x: readable }, ROUTES),
    }
  } catch {
    return undefined
  }
}

function objectOf(schema: Json, seed: number): { readonly [name: string]: Json } {
  let state = seed
  const draw = (below: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
  return { id: 'one', ...TIMES, x: valueFor(schema, draw) }
}

interface Drawn {
  readonly schema: Json
  readonly draws: readonly number[]
}

function refuseMisfits(fits: Resource, mustFit: Resource, { schema, draws }: Drawn): void {
  for (const object of draws.map((seed) => objectOf(schema, seed))) {
    if (fits.validate(object).length > 0) continue
    expect(mustFit.validate(object), JSON.stringify(object)).to.deep.equal([])
  }
}
