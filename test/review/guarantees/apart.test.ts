/** `apart` is proven where no caller of up to three roles can do both acts, in any two situations that one object can be in. */
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import { stringify } from 'yaml'
import { Prover } from '../../../src/analysis/guarantees/prove.ts'
import { FileError } from '../../../src/base/diagnostic.ts'
import { parsePolicy } from '../../../src/policy/parse/parse-policy.ts'
import { readPolicyFiles } from '../../../src/policy/policy-files.ts'
import { loadResources } from '../../../src/resources/load/load-resources.ts'
import { ROOT } from '../../command.ts'
import { terms } from '../../policy/arbitrary-language.ts'
import { LANGUAGE_RESOURCES } from '../../policy/language-fixture.ts'
import { render } from '../../policy/render.ts'
import type { OraclePolicy, OracleRule } from '../../policy/world.ts'
import { drawing, runs } from '../../runs.ts'
import { languagePair, ROLES } from '../diff/language-pairs.ts'
import {
  apartByForce,
  namesFor,
  type PromisedAct,
  type PromisedApart,
  type RolesApart,
  type Status,
} from './by-force.ts'

const ACTIONS = ['list', 'read', 'create', 'replace', 'update', 'claim', 'delete']
const WRITES = ['replace', 'update', 'claim']
const FIELDS = ['ownerId', 'status', 'note', 'assigneeId', 'total']

interface Drawn {
  readonly policy: OraclePolicy
  readonly promised: PromisedApart
  readonly apart: RolesApart
}

function randomAct(policy: OraclePolicy): fc.Arbitrary<PromisedAct> {
  const names = namesFor(policy)
  const relations = names.filter((name) => !policy.conditions?.has(name))
  const role = fc.constantFrom(...ROLES)
  const some = (all: readonly string[]) => fc.subarray([...all], { minLength: 1, maxLength: 1 })
  return fc
    .record({
      subjects: fc.oneof(
        fc.constant({ except: [] }),
        fc.constant({ except: [] }),
        fc.uniqueArray(role, { minLength: 1, maxLength: 1 }).map((except) => ({ except })),
        fc.uniqueArray(fc.constantFrom(...ROLES, 'anonymous', 'everyone'), { minLength: 1, maxLength: 2 }),
      ),
      actions: fc.oneof(some(ACTIONS), some(WRITES)),
      fields: fc.option(some(FIELDS)),
      left: fc.option(terms(names, 2)),
      right: fc.option(terms(relations, 2)),
    })
    .map(({ subjects, actions, fields, left, right }) => {
      const onWrites = right !== null && actions.every((name) => WRITES.includes(name))
      const hasFields = fields !== null && !actions.includes('delete')
      const said = { relations: left ?? [], ...(onWrites && { after: right }) }
      const isAny = said.relations.length === 0 && !onWrites
      return { subjects, actions, ...(hasFields && { fields }), ...(!isAny && { terms: said }) }
    })
}

const drawn: fc.Arbitrary<Drawn> = languagePair.chain(({ before: policy }) =>
  fc
    .record({
      one: randomAct(policy),
      other: randomAct(policy),
      anywhere: fc.nat(3),
      apart: fc.option(fc.subarray([...ROLES], { minLength: 2, maxLength: 2 }), { nil: [], freq: 2 }),
    })
    .map(({ one, other, anywhere, apart }) => ({
      policy,
      promised: { acts: [one, other], anywhere: anywhere === 0 },
      apart,
    })),
)

function textOf({ acts, anywhere }: PromisedApart, apart: RolesApart): string {
  const side = (names: readonly string[]) => (names.length === 0 ? 'any' : names.join('+'))
  const forms = acts.map(({ subjects, actions, fields, terms: said }) => ({
    ...(!('except' in subjects && subjects.except.length === 0) && { subjects }),
    resource: 'tasks',
    actions,
    ...(fields && { fields }),
    ...(said && { when: said.after ? `${side(said.relations)}>${side(said.after)}` : side(said.relations) }),
  }))
  const others = apart.length === 0 ? [] : [{ name: 'apart', 'roles-apart': apart }]
  return stringify([{ name: 'promised', apart: forms, ...(anywhere && { anywhere }) }, ...others], {
    aliasDuplicateObjects: false,
  })
}

/** Undefined for a guarantee that is a mistake: two acts that only create, for example. */
function proved({ policy, promised, apart }: Drawn): Status | undefined {
  const files = render(policy, { lineEnd: '\n', padding: ' ', comments: false })
  const text = textOf(promised, apart)
  try {
    const parsed = parsePolicy({ ...files, 'guarantees.yaml': { name: 'guarantees.yaml', text } }, LANGUAGE_RESOURCES)
    const [guarantee] = parsed.guarantees
    if (!guarantee) throw new Error('there is no guarantee')
    return new Prover(parsed, LANGUAGE_RESOURCES, 0).answer(guarantee).kind
  } catch (error) {
    if (error instanceof FileError) return undefined
    throw error
  }
}

function answersLikeForce(answerer: typeof proved, count: (status: string) => void = () => undefined) {
  return fc.property(drawn, (one) => {
    const status = answerer(one)
    if (status === undefined) return
    count(`${status}${one.promised.anywhere ? ' anywhere' : ''}`)
    expect(status, textOf(one.promised, one.apart)).to.equal(apartByForce(one.policy, one.promised, one.apart))
  })
}

describe('the answer to `apart`', () => {
  it('is what trying every caller of up to three roles in every two situations finds', () => {
    const counts: Record<string, number> = {}
    const property = answersLikeForce(proved, (status) => {
      counts[status] = (counts[status] ?? 0) + 1
    })
    return drawing(
      () => fc.assert(property, { numRuns: runs(400, 25) }),
      () => expect(counts).to.include.all.keys('proven', 'broken', 'broken anywhere'),
    )
  }).timeout(300_000)

  const isAllow = ({ effect }: OracleRule) => effect === 'allow'
  const isOfRole = ({ subject }: OracleRule) => !subject.startsWith('user:')
  const withRules = (kept: (rule: OracleRule) => boolean) => (one: Drawn) => ({
    ...one,
    policy: { ...one.policy, rules: one.policy.rules.filter(kept) },
  })
  const withActs = (edit: (acts: PromisedApart['acts']) => PromisedApart['acts']) => (one: Drawn) => ({
    ...one,
    promised: { ...one.promised, acts: edit(one.promised.acts) },
  })

  /** Each is wrong in one way; the property above must see it. */
  const wrong: Readonly<Record<string, (drawn: Drawn) => Drawn>> = {
    'ignores denies': withRules(isAllow),
    'ignores rules of users': withRules(isOfRole),
    'asks the first act twice': withActs(([one]) => [one, one]),
    'ignores when': withActs(([{ terms: _, ...one }, { terms: __, ...other }]) => [one, other]),
    'asks everybody': withActs(([one, other]) => [
      { ...one, subjects: { except: [] } },
      { ...other, subjects: { except: [] } },
    ]),
    'ignores that roles stay apart': (one) => ({ ...one, apart: [] }),
  }

  it('is compared so that an answerer is found out that ignores what an object keeps', () => {
    const about = { resource: 'tasks', relations: ['owner'], views: ['text'] }
    const rules: readonly OracleRule[] = [
      { ...about, subject: 'everyone', actions: ['update'], effect: 'allow' },
      { ...about, subject: 'a', actions: ['read'], relations: [], effect: 'allow' },
      { ...about, subject: 'everyone', actions: ['read'], effect: 'deny' },
    ]
    const views = new Map([['tasks', new Map([['text', ['note']]])]])
    const owner = { field: 'ownerId', equals: 'id' } as const
    const relations = new Map([['tasks', new Map([['owner', owner]])]])
    const policy: OraclePolicy = { roles: ROLES, links: [], rules, views, relations }
    const anybody = { subjects: { except: [] } }
    const acts = [
      { ...anybody, actions: ['update'] },
      { ...anybody, actions: ['read'] },
    ] as const
    const statuses = (anywhere: boolean) => {
      const promised: PromisedApart = { acts, anywhere }
      return [proved({ policy, promised, apart: [] }), apartByForce(policy, promised)]
    }
    expect(statuses(false)).to.deep.equal(['proven', 'proven'])
    expect(statuses(true)).to.deep.equal(['broken', 'broken'])
  })

  for (const [fault, tamper] of Object.entries(wrong)) {
    it(`is compared so that an answerer is found out that ${fault}`, () => {
      const outcome = fc.check(
        answersLikeForce((one) => proved(tamper(one))),
        { numRuns: 3000, seed: 2, endOnFailure: true },
      )
      expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
    }).timeout(120_000)
  }
})

describe('who places an order never ships it', () => {
  const BOTH = `- name: who places an order never ships it
  apart: [{ resource: orders, actions: [replace, update], when: draft>placed }, { resource: orders, actions: [update], when: placed>shipped }]
`
  const RULES = `p, customer, orders, create, owner+draft, *, allow
p, customer, orders, replace|update, owner+draft>placed, *, allow
p, warehouse, orders, update, placed>shipped, progress, allow`
  const OWN_ORDERS = 'p, warehouse, orders, update, owner+placed>shipped, *, deny'

  async function statusWith(lines: readonly string[], guarantees = BOTH): Promise<Status> {
    const resources = await loadResources(`${ROOT}schemas`)
    const {
      'policy.csv': policy,
      'roles.yaml': roles,
      'limits.yaml': limits,
      ...files
    } = await readPolicyFiles(`${ROOT}policies`)
    const names = ['customer', 'warehouse', 'clerk']
    const parsed = parsePolicy(
      {
        ...files,
        'policy.csv': { ...policy, text: [RULES, ...lines, '# end of policy\n'].join('\n') },
        'roles.yaml': { ...roles, text: names.map((name) => `${name}: { description: A role. }\n`).join('') },
        'limits.yaml': { ...limits, text: limits.text.replaceAll(/role: \w+/g, 'role: clerk') },
        'guarantees.yaml': { name: 'guarantees.yaml', text: guarantees },
      },
      resources,
    )
    const [guarantee] = parsed.guarantees
    if (!guarantee) throw new Error('there is no guarantee')
    return new Prover(parsed, resources, Date.now()).answer(guarantee).kind
  }

  it('is broken by a customer who also works in the warehouse', async () => {
    expect(await statusWith([])).to.equal('broken')
  })

  it('holds if nobody ships their own orders, and nobody can give orders away', async () => {
    expect(await statusWith([OWN_ORDERS])).to.equal('proven')
  })

  it('does not hold by that if somebody else can change the customer of an order', async () => {
    const clerk = 'p, clerk, orders, update, placed>placed, *, allow'
    expect(await statusWith([OWN_ORDERS, clerk])).to.equal('broken')
    const keeping = 'p, clerk, orders, update, placed>placed, progress, allow'
    expect(await statusWith([OWN_ORDERS, keeping])).to.equal('proven')
  })

  it('holds if no customer ships', async () => {
    expect(await statusWith(['p, customer, orders, update, placed>shipped, *, deny'])).to.equal('proven')
  })

  it('holds if nobody has both roles', async () => {
    const apart = '- name: one or the other\n  roles-apart: [customer, warehouse]\n'
    expect(await statusWith([], `${BOTH}${apart}`)).to.equal('proven')
  })

  it('does not hold anywhere by relations to one object', async () => {
    expect(await statusWith([OWN_ORDERS], `${BOTH}  anywhere: true\n`)).to.equal('broken')
  })

  it('does not hold where the deny ends', async () => {
    expect(await statusWith([`${OWN_ORDERS}, until=2999-01-01T00:00:00Z`])).to.equal('broken')
  })
})
