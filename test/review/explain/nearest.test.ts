/** A near miss is a real one: with the changes that it names, and with nothing less, the request is allowed. */
import { expect } from 'chai'
import fc from 'fast-check'
import { parsePolicy } from '../../../src/policy/parse/parse-policy.ts'
import type { PolicyFiles } from '../../../src/policy/policy-files.ts'
import type { Explanation, NeededChange } from '../../../src/tools/explain/explanation.ts'
import { type LineEdit, withEdits } from '../../../src/tools/line-edit.ts'
import { ROLES, randomCaller } from '../../policy/arbitrary.ts'
import { randomPolicy, type WrittenPolicy } from '../../policy/arbitrary-policy.ts'
import { DOCS, RESOURCES } from '../../policy/fixture.ts'
import { granted, subsets } from '../../policy/oracle.ts'
import { worldOf } from '../../policy/product.ts'
import type { OracleCaller } from '../../policy/world.ts'
import { runs } from '../../runs.ts'
import { ask, type RouteMethod, spotsOfDocs } from './asking.ts'

interface Asking {
  readonly policy: WrittenPolicy
  readonly caller: OracleCaller
  readonly routeMethod: RouteMethod
  readonly relations: ReadonlySet<string>
}

const asking: fc.Arbitrary<Asking> = fc
  .record({ policy: randomPolicy, caller: randomCaller, pick: fc.nat(), pickSet: fc.nat() })
  .map(({ policy, caller, pick, pickSet }) => {
    const routeMethods = spotsOfDocs(undefined).filter(({ method }) => method !== 'OPTIONS')
    return {
      policy,
      caller,
      routeMethod: pickFrom(routeMethods, pick),
      relations: pickFrom(possibleSets(policy, caller), pickSet),
    }
  })

describe('the nearest misses', () => {
  it('would make what is refused allowed, and nothing less would', () => {
    fc.assert(
      fc.property(asking, (one) => {
        for (const { changes } of missesOf(one)) {
          expect(allowedWith(one, changes)).to.equal(true)
          for (const left of changes)
            expect(
              allowedWith(
                one,
                changes.filter((change) => change !== left),
              ),
            ).to.equal(false)
        }
      }),
      { numRuns: runs(200) },
    )
  })

  it('are allowed with the lines that they name', () => {
    let tried = 0
    fc.assert(
      fc.property(asking, (one) => {
        for (const { edits, sentence } of missesOf(one)) {
          if (edits.length === 0) continue
          tried += 1
          const files = edited(one.policy.files, edits)
          const { outcome } = explained({ ...one, policy: { ...one.policy, files } })
          expect(outcome, `${sentence}: ${JSON.stringify(edits)}`).to.equal('allow')
        }
      }),
      { numRuns: runs(1500) },
    )
    expect(tried).to.be.greaterThan(20)
  })

  it('are there whenever one role or one relation more would be enough', () => {
    fc.assert(
      fc.property(asking, (one) => {
        const misses = missesOf(one)
        const single = singleChanges(one).filter((change) => allowedWith(one, [change]))
        if (allowedWith(one, []) || single.length === 0) return
        expect(misses.some(({ changes }) => changes.length === 1)).to.equal(true)
      }),
      { numRuns: runs(200) },
    )
  })

  it('are none where the request is allowed', () => {
    fc.assert(
      fc.property(asking, (one) => {
        if (allowedWith(one, [])) expect(missesOf(one)).to.deep.equal([])
      }),
      { numRuns: runs(200) },
    )
  })
})

function edited(files: PolicyFiles, edits: readonly LineEdit[]): PolicyFiles {
  const source = files['policy.csv']
  return { ...files, 'policy.csv': { ...source, text: withEdits(source.text, edits) } }
}

function missesOf(asking: Asking): Explanation['misses'] {
  return explained(asking).misses
}

function explained({ policy, caller, routeMethod, relations }: Asking): Explanation {
  return ask(policy.files, routeMethod, caller, {
    kind: 'relations',
    from: '--relation',
    id: undefined,
    holding: relations,
  })
}

/** What the oracle says once the changes are made; without credentials some relations can't hold. */
function allowedWith({ policy, caller, routeMethod, relations }: Asking, changes: readonly NeededChange[]): boolean {
  const changed = changes.reduce(become, caller)
  const possible = possibleSets(policy, changed).at(-1) ?? new Set()
  const gone = new Set(changes.flatMap((change) => (change.kind === 'deny' ? [change.rule] : [])))
  const lines = parsePolicy(policy.files, RESOURCES).rules.map(({ line }) => `policy.csv:${line}`)
  const data = { ...policy.data, rules: policy.data.rules.filter((_, i) => !gone.has(lines[i] ?? '')) }
  const named = (kind: NeededChange['kind']) =>
    changes.flatMap((change) => (change.kind === kind && 'name' in change ? [change.name] : []))
  const added = named('relation')
  const holding = relations.union(new Set(added)).difference(new Set(named('not-relation')))
  const action = routeMethod.route.endpoints.get(routeMethod.method)?.action ?? ''
  const world = worldOf(data, DOCS, changed)
  return added.every((name) => possible.has(name)) && granted(world, action, holding).size > 0
}

function become(caller: OracleCaller, change: NeededChange): OracleCaller {
  switch (change.kind) {
    case 'credentials':
      return { ...caller, id: caller.id ?? 'somebody' }
    case 'role':
      return { ...caller, id: caller.id ?? 'somebody', roles: [...caller.roles, change.name] }
    case 'user':
      return { ...caller, id: change.name }
    default:
      return caller
  }
}

function singleChanges({ policy, caller, relations }: Asking): readonly NeededChange[] {
  const possible = new Set(possibleSets(policy, caller).flatMap((set) => [...set])).difference(relations)
  return [
    ...ROLES.filter((role) => policy.data.roles.includes(role)).map((name): NeededChange => ({ kind: 'role', name })),
    ...[...possible].map((name): NeededChange => ({ kind: 'relation', name })),
  ]
}

/** Without credentials nobody is anybody's owner. */
function possibleSets({ data }: WrittenPolicy, { id }: OracleCaller): readonly ReadonlySet<string>[] {
  const relations = [...(data.relations.get('docs') ?? [])]
  return subsets(relations.filter(([, one]) => id !== undefined || 'in' in one).map(([name]) => name))
}

function pickFrom<T>(all: readonly T[], pick: number): T {
  const picked = all[pick % all.length]
  if (picked === undefined) throw new Error('there is nothing to pick from')
  return picked
}
