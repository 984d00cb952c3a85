/** Checks that claim something about all requests, held to going through them one by one. */
import { expect } from 'chai'
import fc from 'fast-check'
import type { Diagnostic } from '../../../src/base/diagnostic.ts'
import { callerColumns } from '../../../src/decide/callers-and-routes.ts'
import type { Limit, Policy } from '../../../src/decide/policy.ts'
import { createMemoryLimiter } from '../../../src/limits/memory.ts'
import { parsePolicy } from '../../../src/policy/parse/parse-policy.ts'
import type { PolicyFiles } from '../../../src/policy/policy-files.ts'
import { makeEndpoints } from '../../../src/resources/load/make-routes.ts'
import type { Operation, Resource, Resources, Route } from '../../../src/resources/resource.ts'
import { type CheckedPolicy, checkedPolicy, type PolicyCheck } from '../../../src/tools/check/check.ts'
import { ROUTES_AND_LIMITS } from '../../../src/tools/check/rules/routes-and-limits.ts'
import { generousPolicy, randomPolicy } from '../../policy/arbitrary-policy.ts'
import { DOCS, RESOURCES } from '../../policy/fixture.ts'
import { relationSetsOf } from '../../policy/relation-sets.ts'
import { filesOf } from '../../policy/render.ts'
import { drawing, runs } from '../../runs.ts'
import { evaluate } from '../plain-evaluation.ts'

const ITEM: ReadonlyMap<string, Operation> = new Map([
  ['GET', 'read'],
  ['PUT', 'replace'],
  ['PATCH', 'update'],
  ['DELETE', 'delete'],
])

const ROUTE: Route = { path: '/docs/{id}', resource: 'docs', kind: 'item', ...makeEndpoints(ITEM, (name) => name) }
const ROUTED: Resource = { ...DOCS, routes: [ROUTE] }
const WITH_ROUTE: Resources = { byName: new Map([...RESOURCES.byName, ['docs', ROUTED]]), routes: [ROUTE] }

const files = fc.oneof(randomPolicy, generousPolicy).map((written) => written.files)

function checkOf(code: string): PolicyCheck {
  const found = ROUTES_AND_LIMITS.find(({ codes }) => codes.includes(code))
  if (!found) throw new Error(`no check has the code ${code}`)
  return found
}

describe('a check of all requests', () => {
  it('finds a route that nobody reaches exactly where nobody is granted anything, unless everyone is denied it', async () => {
    const isUnreached = (policy: Policy) => {
      const reads = [...ROUTE.endpoints.values()].flatMap(({ action }) => ROUTED.actions.get(action) ?? [])
      return reads.some((action) => {
        const sets = action.name === 'options' ? [new Set<string>()] : allSets(policy)
        const everyone = { subjects: new Set(['everyone']), resource: ROUTED, action, relations: new Set<string>() }
        if (evaluate(policy, everyone).denies.some(({ views }) => namesSomething(policy, action.hasFields, views)))
          return false
        return callerColumns(policy).every(({ subjects }) =>
          sets.every((relations) => evaluate(policy, { ...everyone, subjects, relations }).fields.size === 0),
        )
      })
    }
    let found = 0
    await drawing(
      () => {
        found += compare(checkOf('route-unreached'), isUnreached).found
      },
      () => {
        expect(found).to.be.greaterThan(20)
      },
    )
  })

  it('a limit that is said to be shadowed never refuses a request that the other one would admit', async () => {
    let shadowed = 0
    await drawing(
      () =>
        fc.assert(
          fc.asyncProperty(limitPair, arrivals, async (limits, gapsMs) => {
            const text = `body: 100kb\npage: { default: 50, max: 200 }\nlimits:\n${limits.map(limitText).join('')}`
            const checked = checkedOf(filesOf({ 'limits.yaml': text }))
            const found = checkOf('limit-shadowed').find(checked)
            if (found.length === 0) return
            shadowed++
            const redundant = /the limit `(.*?)`/.exec(found[0]?.message ?? '')?.[1]
            expect(await refusalsOf(redundant ?? '', checked.policy.limits.limits, gapsMs)).to.equal(0)
          }),
          { numRuns: runs(300, 120) },
        ),
      () => {
        expect(shadowed).to.be.greaterThan(20)
      },
    )
  })

  it('a limit that is not shadowed can refuse one', async () => {
    const limits = [
      { name: 'a', match: {}, per: 'address', allow: 3, windowMs: 10_000 },
      { name: 'b', match: {}, per: 'address', allow: 2, windowMs: 1000 },
    ] as const
    expect(
      await refusalsOf(
        'a',
        limits,
        Array.from({ length: 10 }, () => 800),
      ),
    ).to.be.greaterThan(0)
  })
})

// ---- Policies -------------------------------------------------------------------------------------------------------

/** Runs a check on random policies beside what going through all requests says. */
function compare(check: PolicyCheck, hasFinding: (policy: Policy) => boolean): { found: number; clean: number } {
  const counts = { found: 0, clean: 0 }
  fc.assert(
    fc.property(files, (texts) => {
      const checked = checkedOf(texts)
      const found: readonly Diagnostic[] = check.find(checked)
      counts[found.length > 0 ? 'found' : 'clean']++
      expect(found.length > 0).to.equal(hasFinding(checked.policy))
    }),
    { numRuns: runs(300) },
  )
  return counts
}

function checkedOf(texts: PolicyFiles): CheckedPolicy {
  const policy = parsePolicy(texts, WITH_ROUTE)
  return checkedPolicy({ written: policy, now: 0, resources: WITH_ROUTE, files: texts, directory: undefined })
}

function allSets(policy: Policy): readonly ReadonlySet<string>[] {
  const actions = [...ROUTED.actions.values()]
  return actions.flatMap((action) => relationSetsOf(policy, ROUTED, action)).concat(unions(policy))
}

/** Relations that only rules about different actions name can hold together. */
function unions(policy: Policy): readonly ReadonlySet<string>[] {
  const names = [...(policy.ownership.get('docs')?.relations.keys() ?? [])]
  return names.reduce<Set<string>[]>(
    (sets, name) => sets.concat(sets.map((set) => new Set([...set, name]))),
    [new Set()],
  )
}

function namesSomething(policy: Policy, hasFields: boolean, views: readonly string[]): boolean {
  return (
    views.includes('*') || (hasFields && views.some((view) => (policy.views.get('docs')?.get(view)?.size ?? 0) > 0))
  )
}

// ---- Limits ---------------------------------------------------------------------------------------------------------

const limit = fc.record({ allow: fc.integer({ min: 1, max: 30 }), seconds: fc.constantFrom(1, 2, 3, 10, 11) })
const limitPair = fc.tuple(limit, limit).map(([a, b]) => [a, b].map((one, i) => ({ name: `limit-${i}`, ...one })))
const arrivals = fc.array(fc.constantFrom(0, 1, 10, 49, 50, 99, 100, 500, 999, 1000), {
  minLength: 100,
  maxLength: 300,
})

function limitText({ name, allow, seconds }: { name: string; allow: number; seconds: number }): string {
  return `  ${name}: { per: address, allow: ${allow}, window: ${seconds}s }\n`
}

/** How many requests one limit refuses which every other one would have admitted. */
async function refusalsOf(redundant: string, limits: readonly Limit[], gapsMs: readonly number[]): Promise<number> {
  let now = 0
  let refusals = 0
  const limiter = createMemoryLimiter({ now: () => now })
  for (const gap of gapsMs) {
    now += gap
    const asked = limits.map(({ name, allow, windowMs }) => ({ name, key: name, allow, windowMs }))
    const { quotas } = await limiter.admit(asked)
    const exceeded = quotas.filter((quota) => quota.exceeded).map(({ name }) => name)
    if (exceeded.includes(redundant) && exceeded.length === 1) refusals++
  }
  await limiter.close()
  return refusals
}
