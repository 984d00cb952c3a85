/** Stored objects are never said to fit wrongly, examples are real, and the answer is certain for the exact keywords. */
import '../seed.ts'
import { expect } from 'chai'
import fc from 'fast-check'
import { type FitReason, type FitVerdict, type StoredFit, storedFit } from '../../src/resources/fit/stored-fit.ts'
import type { Json, Resource } from '../../src/resources/resource.ts'
import { drawing, runs } from '../runs.ts'
import { anySchema, exactSchema, pairOf, resourceWith, valueFor } from './random-schemas.ts'

const TIMES = { createdAt: '2026-01-01T00:00:00.000Z', updatedAt: '2026-01-01T00:00:00.000Z' }
const LIST = { type: 'array', items: { type: 'string' } }
const PATTERN = { type: 'string', pattern: '^a{0,5}$' }
const TREE = {
  $ref: '#/properties/x/anyOf/0',
  anyOf: [{ type: 'object', properties: { x: { $ref: '#/properties/x' } } }],
}
const draws = fc.array(fc.nat(), { minLength: 30, maxLength: 30 })

/** The old schema of the field `x`, the new one, and the answer. */
const CASES: readonly (readonly [string, Json, Json, FitVerdict, Partial<FitReason>?])[] = [
  ['a text fits a longer bound', { type: 'string', maxLength: 3 }, { type: 'string', maxLength: 4 }, 'fits'],
  [
    'a text may not fit a shorter bound',
    { type: 'string', maxLength: 4 },
    { type: 'string', maxLength: 3 },
    'may not fit',
    { code: 'bounds-narrowed', message: 'must not have more than 3 characters', path: ['x'] },
  ],
  [
    'an enum loses a value',
    { enum: ['a', 'b', 'c'] },
    { enum: ['a'] },
    'may not fit',
    { code: 'values-narrowed', lost: ['b', 'c'] },
  ],
  ['an enum gains a value', { enum: ['a'] }, { enum: ['a', 'b'] }, 'fits'],
  [
    'whole numbers within bounds are values too',
    { type: 'integer', minimum: 1, maximum: 2 },
    { enum: [1, 2, 9] },
    'fits',
  ],
  ['multiples of 6 are multiples of 3', { type: 'integer', multipleOf: 6 }, { type: 'integer', multipleOf: 3 }, 'fits'],
  ['decimals are exact', { type: 'number', multipleOf: 0.3 }, { type: 'number', multipleOf: 0.1 }, 'fits'],
  [
    'members that only a pattern allows lose their place',
    { type: 'object', patternProperties: { '^a': { type: 'string' } }, additionalProperties: false },
    { type: 'object', maxProperties: 0 },
    'unknown',
  ],
  ['a list becomes one value', LIST, { type: 'string' }, 'may not fit', { code: 'type-narrowed' }],
  [
    'items are narrowed',
    LIST,
    { ...LIST, items: { type: 'string', minLength: 1 } },
    'may not fit',
    { path: ['x', '*'] },
  ],
  ['items become distinct', LIST, { ...LIST, uniqueItems: true }, 'may not fit', { code: 'items-distinct' }],
  ['one item is always distinct', { ...LIST, maxItems: 1 }, { ...LIST, uniqueItems: true }, 'fits'],
  ['items that no list can have', { ...LIST, maxItems: 0 }, { ...LIST, items: { type: 'null' } }, 'fits'],
  ['a bound beside a pattern', PATTERN, { ...PATTERN, maxLength: 9 }, 'unknown', { code: 'bounds-narrowed' }],
  ['another pattern that refuses a text', PATTERN, { type: 'string', pattern: '^[b-z]*$' }, 'may not fit'],
  ['another pattern', PATTERN, { type: 'string', pattern: '^[a-z]*$' }, 'unknown', { code: 'pattern-changed' }],
  ['another format', { type: 'string', format: 'ipv4' }, { type: 'string', format: 'hostname' }, 'unknown'],
  ['a branch more', { anyOf: [{ type: 'null' }] }, { anyOf: [{ type: 'null' }, { type: 'string' }] }, 'fits'],
  ['a schema that contains itself', TREE, TREE, 'fits'],
]

describe('whether stored objects fit', () => {
  for (const [title, old, next, verdict, reason = {}] of CASES) {
    it(`${title}: ${verdict}`, () => {
      const fit = judge(resourceWith({ x: old }), resourceWith({ x: next }), { old, seeds: [1, 2, 3] })
      expect(fit.verdict, JSON.stringify(fit)).to.equal(verdict)
      if (verdict !== 'fits') expect(fit.reasons[0]).to.deep.include(reason)
    })
  }

  it('says for a removed field that objects may have it', () => {
    const fit = storedFit(resourceWith({ x: LIST }), resourceWith({}))
    expect(fit.reasons).to.have.length(1)
    expect(fit.reasons[0]).to.deep.include({ code: 'field-removed', field: 'x', message: 'is not accepted here' })
  })

  it('says for a newly required field that objects may lack it, and its default', () => {
    const next = resourceWith({ x: { type: 'string', default: 'a' } }, { required: ['x'] })
    const fit = storedFit(resourceWith({ x: { type: 'string' } }), next)
    expect(fit.reasons[0]).to.deep.include({ code: 'field-required', verdict: 'may not fit', field: 'x', default: 'a' })
    expect(fit.reasons[0]?.example).not.to.have.property('x')
    expect(storedFit(next, next).verdict).to.equal('fits')
  })

  it('knows the form of the fields that the server writes', () => {
    const time = { type: 'string', format: 'date-time', readOnly: true }
    expect(storedFit(resourceWith({}), resourceWith({ createdAt: time })).verdict).to.equal('fits')
    const date = { type: 'string', format: 'date', readOnly: true }
    expect(storedFit(resourceWith({}), resourceWith({ createdAt: date })).verdict).to.equal('may not fit')
  })

  it('says that two objects may have the same value of a newly unique field', () => {
    const unique = resourceWith({ x: { type: 'string', 'x-unique': true } })
    const fit = storedFit(resourceWith({ x: { type: 'string' } }), unique)
    expect(fit.reasons[0]).to.deep.include({ code: 'unique-added', verdict: 'may not fit', field: 'x' })
    expect(storedFit(resourceWith({}), unique).verdict).to.equal('fits')
  })

  it('says that no request reaches the objects of a removed resource, and a new one has none', () => {
    expect(storedFit(resourceWith({}), undefined).reasons[0]?.code).to.equal('resource-removed')
    expect(storedFit(undefined, resourceWith({})).verdict).to.equal('fits')
  })

  it('ends for schemas that contain one another many times: unknown, or the same', () => {
    const nested = (maxLength: number, keyword: 'properties' | 'allOf') => {
      // Ajv itself looks at each way through `allOf`.
      const last = keyword === 'allOf' ? 8 : 13
      const levels = Array.from({ length: last }, (_, i) => {
        const inner = { $ref: `#/$defs/level${i + 1}` }
        const twice =
          keyword === 'allOf' ? { allOf: [inner, { $ref: inner.$ref }] } : { properties: { a: inner, b: inner } }
        return [`level${i}`, { type: keyword === 'allOf' ? 'string' : 'object', ...twice }]
      })
      const $defs = { ...Object.fromEntries(levels), [`level${last}`]: { type: 'string', maxLength } }
      return resourceWith({ x: { $ref: '#/$defs/level0' } }, { $defs })
    }
    expect(storedFit(nested(5, 'properties'), nested(4, 'properties')).reasons[0]?.code).to.equal('too-large')
    expect(storedFit(nested(5, 'properties'), nested(5, 'properties')).verdict).to.equal('fits')
    expect(storedFit(nested(5, 'allOf'), nested(4, 'allOf')).verdict).to.equal('may not fit')
    const choices = (least: number) => ({
      allOf: Array.from({ length: 9 }, (_, i) => ({
        anyOf: [
          { type: 'string', maxLength: least + i },
          { type: 'integer', minimum: i },
        ],
      })),
    })
    expect(storedFit(resourceWith({ x: choices(5) }), resourceWith({ x: choices(4) })).verdict).to.equal('unknown')
  })

  it('gives the faulty value of the example', () => {
    const lists = (maximum: number) => ({ type: 'array', items: { type: 'integer', maximum } })
    const fit = storedFit(resourceWith({ x: lists(9) }), resourceWith({ x: lists(3) }))
    expect(fit.reasons[0]).to.deep.include({ path: ['x', '*'], value: 4 })
    expect(fit.reasons[0]?.example?.x).to.deep.equal([4])
  })

  it('a wrong answer would be found', () => {
    const [old, next] = [
      { type: 'string', maxLength: 3 },
      { type: 'string', maxLength: 1 },
    ]
    const pair = [resourceWith({ x: old }), resourceWith({ x: next })] as const
    const example = { id: 'a', ...TIMES, x: 'a' }
    const wrong = (reason: object) => () => ({ verdict: 'may not fit', reasons: [reason as FitReason] }) as const
    const seeds = Array.from({ length: 20 }, (_, i) => i)
    expect(() => judge(...pair, { old, seeds }, () => ({ verdict: 'fits', reasons: [] }))).to.throw('expected [ {')
    expect(() => judge(...pair, { old, seeds }, wrong({ verdict: 'may not fit', example }))).to.throw()
    expect(() => judge(...pair, { old, seeds }, wrong({ verdict: 'may not fit', example: { x: 'aaaa' } }))).to.throw()
  })

  it('is never answered with `fits` wrongly, and each example is real, for random schemas', async () => {
    const answers = { fits: 0, 'may not fit': 0, unknown: 0 }
    await drawing(
      () =>
        fc.assert(
          fc.property(pairOf(anySchema), fc.boolean(), draws, ([old, next], required, seeds) => {
            const pair = resourcesOf(old, next, required)
            if (!pair) return
            answers[judge(...pair, { old, seeds }).verdict] += 1
          }),
          { numRuns: runs(1000, 300) },
        ),
      () => {
        expect(Math.min(...Object.values(answers)), JSON.stringify(answers)).to.be.greaterThan(20)
      },
    )
  })

  it('is never unknown for the exact keywords', async () => {
    const answers = { fits: 0, 'may not fit': 0, unknown: 0 }
    await drawing(
      () =>
        fc.assert(
          fc.property(pairOf(exactSchema), fc.boolean(), draws, ([old, next], required, seeds) => {
            const pair = resourcesOf(old, next, required)
            if (!pair) return
            const fit = judge(...pair, { old, seeds })
            answers[fit.verdict] += 1
            expect(fit.verdict, JSON.stringify(fit)).not.to.equal('unknown')
          }),
          { numRuns: runs(1500, 300) },
        ),
      () => {
        expect(Math.min(answers.fits, answers['may not fit']), JSON.stringify(answers)).to.be.greaterThan(100)
      },
    )
  })
})

/** Undefined for schemas that the server refuses. */
function resourcesOf(old: Json, next: Json, required: boolean): readonly [Resource, Resource] | undefined {
  try {
    const more = { required: required ? ['x'] : [] }
    return [resourceWith({ x: old }, more), resourceWith({ x: next }, more)]
  } catch {
    return undefined
  }
}

interface Drawn {
  readonly old: Json
  readonly seeds: readonly number[]
}

function judge(before: Resource, after: Resource, { old, seeds }: Drawn, answer = storedFit): StoredFit {
  const fit = answer(before, after)
  for (const { verdict, example, path } of fit.reasons) {
    if (verdict === 'unknown') continue
    expect(before.validate(example ?? {}), JSON.stringify(example)).to.deep.equal([])
    expect(after.validate(example ?? {}), `${path} ${JSON.stringify(example)}`).not.to.deep.equal([])
  }
  if (fit.verdict === 'fits') for (const seed of seeds) refuseMisfit(before, after, { old, seed })
  return fit
}

function refuseMisfit(before: Resource, after: Resource, { old, seed }: { old: Json; seed: number }): void {
  let state = seed
  const draw = (below: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
  const object = { id: 'one', ...TIMES, x: valueFor(old, draw) }
  if (before.validate(object).length > 0) return
  expect(after.validate(object), JSON.stringify(object)).to.deep.equal([])
}
