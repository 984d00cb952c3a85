/** Random patches: what the package `rfc6902` makes of them, this does, where that one keeps to the RFC. */
import { expect } from 'chai'
import fc from 'fast-check'
import { applyPatch, type Operation } from 'rfc6902'
import { Problem } from '../../../src/base/problems/problem.ts'
import { parseResources } from '../../../src/resources/load/load-resources.ts'
import type { Json, Representation, Resource } from '../../../src/resources/resource.ts'
import { type AppliedPatch, applyJsonPatch, fieldsOf, parseJsonPatch } from '../../../src/server/routes/json-patch.ts'

const FIELDS = ['a', 'b', 'c']

const resource = thing()

/** Few names, so that pointers often lead somewhere. */
function jsonWith(...texts: readonly string[]): fc.Arbitrary<Json> {
  return fc.letrec<{ json: Json; leaf: Json }>((tie) => ({
    leaf: fc.oneof(fc.integer({ min: 0, max: 2 }), fc.constantFrom('', ...texts), fc.boolean(), fc.constant(null)),
    json: fc.oneof(
      { maxDepth: 3, depthSize: 'small' },
      tie('leaf'),
      fc.array(tie('json'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...FIELDS, '0', '/', '~', ''), tie('json'), { maxKeys: 3 }),
    ),
  })).json
}

function objectOf(value: fc.Arbitrary<Json>): fc.Arbitrary<Readonly<Record<string, Json>>> {
  return fc.dictionary(fc.constantFrom(...FIELDS), value, { maxKeys: 3, noNullPrototype: true })
}

/** `indexes`: the tokens that elements of arrays are looked for by. */
function patchOf(...indexes: readonly string[]): fc.Arbitrary<Json> {
  const inside = fc.array(fc.constantFrom(...FIELDS, ...indexes, '~1', '~0', ''), { maxLength: 2 })
  const path = fc.tuple(fc.constantFrom(...FIELDS), inside).map((tokens) => `/${tokens.flat().join('/')}`)
  const values = jsonWith()
  const operation: fc.Arbitrary<Json> = fc.oneof(
    fc.record({ op: fc.constantFrom('add', 'replace', 'test'), path, value: values }),
    fc.record({ op: fc.constant('remove'), path }),
    fc.record({ op: fc.constantFrom('move', 'copy'), path, from: path }),
  )
  return fc.array(operation, { minLength: 1, maxLength: 3 })
}

const anyObject = objectOf(jsonWith('x', '/', '~'))
const withoutText = objectOf(jsonWith())
const patch = patchOf('0', '1', '2', '-')

describe('a JSON Patch', () => {
  it('that applies leaves what the package rfc6902 leaves, where all fields are allowed', () => {
    const seen = { applied: 0, conflict: 0, malformed: 0 }
    fc.assert(
      fc.property(anyObject, patchOf('0', '1', '2', '-'), (before, operations) => {
        const ours = outcome(before, operations)
        if (ours.kind === 'applied') expect(ours.after).to.deep.equal(plain(before, operations))
        seen[ours.kind]++
      }),
      { numRuns: 3000 },
    )
    for (const times of Object.values(seen)) expect(times).to.be.greaterThan(30)
  })

  it('that conflicts is refused by the package too; only that one finds characters, and moves behind the end', () => {
    const seen = { applied: 0, conflict: 0, malformed: 0 }
    fc.assert(
      fc.property(withoutText, patchOf('0', '-'), (before, operations) => {
        const ours = outcome(before, operations)
        if (ours.kind === 'conflict') expect(plain(before, operations)).to.equal(undefined)
        seen[ours.kind]++
      }),
      { numRuns: 3000 },
    )
    for (const times of Object.values(seen)) expect(times).to.be.greaterThan(30)
    const lax = [[{ op: 'copy', from: '/a/0', path: '/b' }], [{ op: 'move', from: '/a', path: '/c/2' }]]
    for (const operations of lax) {
      expect(outcome({ a: 'text', c: [] }, operations).kind).to.equal('conflict')
      expect(plain({ a: 'text', c: [] }, operations)).to.not.equal(undefined)
    }
  })

  it('leaves the object and the patch as they were', () => {
    fc.assert(
      fc.property(anyObject, patch, (before, operations) => {
        const copies = JSON.stringify([before, operations])
        outcome(before, operations)
        expect(JSON.stringify([before, operations])).to.equal(copies)
      }),
      { numRuns: 500 },
    )
  })

  it('never touches a field that it does not name', () => {
    fc.assert(
      fc.property(anyObject, patch, (before, operations) => {
        const ours = outcome(before, operations)
        if (ours.kind !== 'applied') return
        const { named } = fieldsOf(parseJsonPatch(operations, resource))
        for (const field of FIELDS.filter((name) => !named.has(name))) {
          expect(ours.after[field]).to.deep.equal(before[field])
        }
      }),
      { numRuns: 1000 },
    )
  })

  it('ends the same whatever an unread field holds: only what is read can tell a value (no oracle)', () => {
    fc.assert(
      fc.property(anyObject, jsonWith('x'), patch, (before, other, operations) => {
        let parsed: ReturnType<typeof parseJsonPatch>
        try {
          parsed = parseJsonPatch(operations, resource)
        } catch {
          return
        }
        const { read } = fieldsOf(parsed)
        for (const field of FIELDS.filter((name) => !read.has(name))) {
          const { [field]: _, ...without } = before
          const kinds = [before, { ...without, [field]: other }, without].map((one) => outcome(one, operations).kind)
          expect(new Set(kinds).size, field).to.equal(1)
        }
      }),
      { numRuns: 1000 },
    )
  })

  it('whatever JSON it is, it is applied or refused with pointers into it', () => {
    fc.assert(
      fc.property(anyObject, fc.jsonValue({ maxDepth: 4 }), (before, anything) => {
        try {
          const applied = applyJsonPatch(before as Representation, parseJsonPatch(anything as Json, resource))
          if (applied.kind === 'invalid') throw applied.problem
        } catch (error) {
          if (!(error instanceof Problem)) throw error
          expect(error.code).to.equal('invalid-patch')
          expect(
            error.errors.every(({ pointer: at }) => at === '' || /^\/\d+(\/(op|path|from|value))?$/.test(at)),
          ).to.equal(true)
        }
      }),
      { numRuns: 1000 },
    )
  })

  it('compares numbers by value and members in any order (RFC 6902 section 4.6)', () => {
    const before = { a: { x: 1, y: [0, 10] } }
    for (const [text, kind] of [
      ['{"y":[-0,1e1],"x":1.0}', 'applied'],
      ['{"y":[10,0],"x":1}', 'conflict'],
      ['{"x":1}', 'conflict'],
      ['{"x":1,"y":{"0":0,"1":10}}', 'conflict'],
      ['{"x":"1","y":[0,10]}', 'conflict'],
      ['null', 'conflict'],
    ] as const) {
      const test = JSON.parse(`[{"op":"test","path":"/a","value":${text}}]`) as Json
      expect(outcome(before, test).kind, text).to.equal(kind)
    }
  })
})

type Outcome =
  | Extract<AppliedPatch, { kind: 'applied' }>
  | { readonly kind: 'conflict' }
  | { readonly kind: 'malformed' }

function outcome(before: Readonly<Record<string, Json>>, json: Json): Outcome {
  try {
    const applied = applyJsonPatch(before, parseJsonPatch(json, resource))
    if (applied.kind === 'applied') return applied
    return { kind: applied.kind === 'conflict' ? 'conflict' : 'malformed' }
  } catch (error) {
    if (error instanceof Problem) return { kind: 'malformed' }
    throw error
  }
}

/** Undefined when the package refuses one of the operations, or throws (as for a member of a number). */
function plain(before: Readonly<Record<string, Json>>, operations: Json): unknown {
  const target = structuredClone(before)
  try {
    return applyPatch(target, structuredClone(operations) as unknown as Operation[]).every((error) => error === null)
      ? target
      : undefined
  } catch {
    return undefined
  }
}

function thing(): Resource {
  const server = { type: 'string', readOnly: true }
  const text = JSON.stringify({
    type: 'object',
    'x-resource': { routes: [{ path: '/things/{id}', methods: ['PATCH'] }] },
    properties: {
      id: { ...server, format: 'uuid' },
      createdAt: { ...server, format: 'date-time' },
      updatedAt: { ...server, format: 'date-time' },
      ...Object.fromEntries(FIELDS.map((name) => [name, {}])),
    },
    additionalProperties: false,
  })
  const found = parseResources([{ name: 'things.json', text }]).byName.get('things')
  if (!found) throw new Error('the schema declares things')
  return found
}
