/** Permits: a write is granted, or refused with the same fields, as the oracle says; and the permit holds what was checked. */
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import { decideOnObject } from '../../src/decide/decide.ts'
import type { CallerGrants } from '../../src/decide/grants/caller-grants.ts'
import { type Proposal, permitCreate } from '../../src/decide/permits/issue-permits.ts'
import type { Permit, PermitKind } from '../../src/decide/permits/permit.ts'
import { isRefusal, type Refusal } from '../../src/decide/refusal.ts'
import { runs } from '../runs.ts'
import { randomCaller, randomObject } from './arbitrary.ts'
import { generousPolicy, type WrittenPolicy } from './arbitrary-policy.ts'
import { DOCS } from './fixture.ts'
import { replaced } from './oracle/proposals.ts'
import { change, create, type Grants, granted, judge, onObject, relationsOf, type Verdict } from './oracle.ts'
import { grantsOf, settled, snapshotOf, storedOf, worldOf } from './product.ts'
import type { OracleCaller, Plain, World } from './world.ts'

/** A write of one caller: the stored object, another one to take values from, and the fields that the body names. */
interface Write {
  readonly policy: WrittenPolicy
  readonly caller: OracleCaller
  readonly action: 'create' | 'replace' | 'update' | 'delete'
  readonly stored: Plain
  readonly other: Plain
  readonly named: readonly string[]
  /** Those of them that keep their value. */
  readonly same: readonly string[]
}

interface Judged extends Write {
  readonly world: World
  readonly proposed: Plain
}

type Judge = (write: Judged) => Verdict | Promise<Verdict>

const FIELDS = [...DOCS.fields.keys()]

const COMPARED = ['ownerId', 'members', 'team']

const randomWrite: fc.Arbitrary<Write> = fc.record({
  policy: generousPolicy,
  caller: randomCaller,
  action: fc.constantFrom('create', 'replace', 'update', 'update', 'delete'),
  stored: randomObject,
  other: randomObject,
  // Fields that relations compare come often: they are what makes the second grant another one.
  named: fc
    .tuple(fc.subarray(FIELDS, { maxLength: 4 }), fc.subarray(COMPARED))
    .map((some) => [...new Set(some.flat())]),
  same: fc.subarray(FIELDS.filter((field) => !COMPARED.includes(field))),
})

const product: Judge = async ({ policy, caller, action, stored, proposed, named }) => {
  const grants = await grantsOf(snapshotOf(policy.files), caller, DOCS, action)
  // The schema has no say here.
  const permit = permitOf(grants, action, stored, { after: proposed, named: new Set(named), faults: () => [] })
  if (isRefusal(permit)) return { allowed: false, refused: permit.evidence?.fieldsRefused.toSorted() ?? [] }
  expect(permit.document).to.deep.equal(action === 'delete' ? {} : storedOf(proposed).document)
  expect([permit.resource, permit.id]).to.deep.equal(['docs', action === 'create' ? proposed.id : stored.id])
  expect(permit.version).to.equal(action === 'create' ? 0 : storedOf(stored).version)
  return { allowed: true, refused: [] }
}

function permitOf(
  grants: CallerGrants,
  action: Write['action'],
  stored: Plain,
  proposal: Proposal,
): Permit<PermitKind> | Refusal {
  const passed = () => {}
  if (action === 'create') return settled(permitCreate(grants, proposal, passed))
  const decision = settled(decideOnObject(grants, action, storedOf(stored)))
  if (decision.kind === 'delete') return decision.permit()
  if (isRefusal(decision)) return decision
  if (decision.kind !== 'update') throw new Error('an update is decided as one')
  return settled(decision.permit(proposal))
}

const oracle = ({ world, action, stored, proposed, named }: Judged): Verdict => {
  if (action === 'create') return create(world, proposed, named)
  if (action === 'delete') return { allowed: onObject(world, 'delete', stored).size > 0, refused: [] }
  const hidden = hiddenFrom(world, action, { stored, named })
  if (hidden.length > 0) return { allowed: false, refused: hidden }
  return change(world, action, { stored, proposed, named })
}

/** Fields that the caller can neither read nor write on the stored object: refused before the result is looked at. */
function hiddenFrom(
  world: World,
  action: string,
  { stored, named }: Pick<Judged, 'stored' | 'named'>,
): readonly string[] {
  const [writable, readable] = [onObject(world, action, stored), onObject(world, 'read', stored)]
  if (writable.size === 0) return []
  const isServers = (field: string) => world.resource.readOnly.includes(field)
  const isHidden = (field: string) => !readable.has(field) && (isServers(field) || !writable.has(field))
  return named.filter((field) => world.resource.fields.includes(field) && isHidden(field)).toSorted()
}

function judgesLikeTheOracle(judge: Judge) {
  return fc.asyncProperty(randomWrite, async (write) => {
    const world = worldOf(write.policy.data, DOCS, write.caller)
    const judged = { ...write, world, proposed: proposalOf(write, world) }
    expect(await judge(judged)).to.deep.equal(oracle(judged))
  })
}

/** The object as it would be stored: what the body names comes from the other object, where it may be absent. */
function proposalOf({ action, stored, other, named, same }: Write, world: World): Plain {
  const bodyFields = named.map((field) => [field, same.includes(field) ? stored[field] : other[field]] as const)
  const body = Object.fromEntries(bodyFields.filter(([, value]) => value !== undefined)) as Plain
  if (action === 'create') return { ...body, id: other.id ?? null, createdAt: '', updatedAt: '' }
  if (action === 'replace') return replaced(world, stored, body)
  return Object.fromEntries([
    ...Object.entries(stored).filter(([field]) => !named.includes(field)),
    ...Object.entries(body),
  ])
}

describe('a permit', () => {
  it('is granted, or denied for the same fields, as the oracle says, and holds what was checked', async () => {
    await fc.assert(judgesLikeTheOracle(product), { numRuns: runs(2000) })
  })

  /** Each is wrong in one way; the property above must see it. */
  const wrong: Readonly<Record<string, Judge>> = {
    'looks at the stored object alone': onChange(({ before, readable }) => ({ before, after: before, readable })),
    'looks at the proposed object alone': onChange(({ readable }, write) => {
      const alone = onProposed(write)
      return { before: alone, after: alone, readable }
    }),
    'takes the state relations from the proposed object': onChange((grants, write) => {
      return { ...grants, after: onResult(write, relationsOf(write.world, write.proposed)) }
    }),
    'lets one rule grant a field before, and another one after': onChange((grants, write) => {
      return { ...grants, after: onProposed(write) }
    }),
    'lets a deny that fits the proposed object alone pass': onChange((grants, write) => {
      return { ...grants, after: onResult(write, between(write), 'every') }
    }),
    'takes a field that was granted once for granted': onChange(({ before, readable }, write) => {
      const after = onProposed(write)
      const once = before.size > 0 && after.size > 0 ? before.union(after) : new Set<string>()
      return { before: once, after: once, readable }
    }),
    'tells whether a field that may not be read or written has the value in the body': onChange((grants) => {
      return { ...grants, readable: new Set(FIELDS) }
    }),
    'takes a field of the server for writable': ({ world, ...write }) => {
      return oracle({ ...write, world: { ...world, resource: { ...world.resource, readOnly: [] } } })
    },
    'tells it of a field that is written on the stored object alone': onChange(({ before, after, readable }) => {
      return { before, after, readable: readable.union(before) }
    }),
  }

  for (const [fault, judge] of Object.entries(wrong)) {
    it(`is compared so that a judge is found out that ${fault}`, async () => {
      const outcome = await fc.check(judgesLikeTheOracle(judge), { numRuns: 20_000, seed: 1, endOnFailure: true })
      expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
    })
  }
})

/** Judges a change by grants that were tampered with. */
function onChange(
  tamper: (grants: Grants, write: Judged & { readonly action: 'replace' | 'update' }) => Grants,
): Judge {
  return (write) => {
    const { world, action, stored } = write
    if (action === 'create' || action === 'delete') return oracle(write)
    const before = onObject(world, action, stored)
    const after = onResult(write, between(write))
    const grants = { before, after, readable: onObject(world, 'read', stored) }
    return judge(world, write, tamper(grants, { ...write, action }))
  }
}

/** What holds between: states as they are stored, all else as it is proposed. */
function between({ world, stored, proposed }: Judged): ReadonlySet<string> {
  return relationsOf(world, proposed, stored)
}

/** As if the proposed object were stored, but for its states. */
function onProposed(write: Judged): ReadonlySet<string> {
  return granted(write.world, write.action, between(write))
}

/** An allow must fit before and between; of a deny, `some` of the two is enough. No rule here has a right side. */
function onResult(
  { world, action, stored }: Judged,
  relations: ReadonlySet<string>,
  denies: 'some' | 'every' = 'some',
): ReadonlySet<string> {
  const times = [relationsOf(world, stored), relations]
  const fitting = world.policy.rules.filter((rule) =>
    times[rule.effect === 'allow' ? 'every' : denies]((holding) => rule.relations.every((name) => holding.has(name))),
  )
  const rules = fitting.map((rule) => ({ ...rule, relations: [] }))
  return granted({ ...world, policy: { ...world.policy, rules } }, action, new Set())
}
