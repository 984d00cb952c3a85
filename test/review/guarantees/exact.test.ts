/** A guarantee is proven where trying every caller in every situation breaks it nowhere, for policies of the whole language. */
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import { stringify } from 'yaml'
import { Prover } from '../../../src/analysis/guarantees/prove.ts'
import { FileError } from '../../../src/base/diagnostic.ts'
import type { Policy, Rule } from '../../../src/decide/policy.ts'
import { livingAt } from '../../../src/decide/rules/rule-table.ts'
import { parsePolicy } from '../../../src/policy/parse/parse-policy.ts'
import { terms } from '../../policy/arbitrary-language.ts'
import { LANGUAGE_RESOURCES } from '../../policy/language-fixture.ts'
import { render } from '../../policy/render.ts'
import type { OraclePolicy, OracleRule } from '../../policy/world.ts'
import { drawing, runs } from '../../runs.ts'
import { languagePair, ROLES } from '../diff/language-pairs.ts'
import { namesFor, type Promised, type RolesApart, type Status, statusByForce } from './by-force.ts'

const ACTIONS = ['list', 'read', 'create', 'replace', 'update', 'claim', 'delete']
const WRITES = ['replace', 'update', 'claim']
const FIELDS = ['ownerId', 'status', 'note', 'assigneeId', 'total']

const OPEN = { field: 'status', in: ['open'] }

interface Drawn {
  readonly policy: OraclePolicy
  readonly promised: Promised
  readonly apart?: RolesApart
}

/** Roles that `roles-apart` names beside the guarantee that is asked about. */
const rolesApart = fc.option(fc.subarray([...ROLES], { minLength: 2, maxLength: 2 }), { nil: [], freq: 2 })

const drawn: fc.Arbitrary<Drawn> = languagePair.chain(({ before: policy }) => {
  const names = namesFor(policy)
  const relations = names.filter((name) => !policy.conditions?.has(name))
  const role = fc.constantFrom(...ROLES)
  const some = (all: readonly string[], most: number) => fc.subarray([...all], { minLength: 1, maxLength: most })
  return fc
    .record({
      kind: fc.constantFrom<Promised['kind']>('never', 'never', 'always'),
      subjects: fc.oneof(
        fc.constant({ except: [] }),
        fc.uniqueArray(role, { minLength: 1, maxLength: 2 }).map((except) => ({ except })),
        fc.uniqueArray(fc.constantFrom(...ROLES, 'anonymous', 'everyone'), { minLength: 1, maxLength: 2 }),
      ),
      actions: fc.oneof(some(ACTIONS, 2), some(WRITES, 2)),
      fields: fc.option(some(FIELDS, 2)),
      left: fc.option(terms(names, 2)),
      right: fc.option(terms(relations, 2)),
      apart: rolesApart,
    })
    .map(({ kind, subjects, actions, fields, left, right, apart }) => {
      const onWrites = right !== null && actions.every((name) => WRITES.includes(name))
      const hasFields = fields !== null && !actions.includes('delete')
      const said = { relations: left ?? [], ...(onWrites && { after: right }) }
      const isAny = said.relations.length === 0 && !onWrites
      return {
        policy,
        apart,
        promised: { kind, subjects, actions, ...(hasFields && { fields }), ...(!isAny && { terms: said }) },
      }
    })
})

function textOf({ kind, subjects, actions, fields, terms: said }: Promised, apart: RolesApart = []): string {
  const side = (names: readonly string[]) => (names.length === 0 ? 'any' : names.join('+'))
  const column = said && (said.after ? `${side(said.relations)}>${side(said.after)}` : side(said.relations))
  const word = kind === 'never' ? 'unless' : 'when'
  const isAll = 'except' in subjects && subjects.except.length === 0
  const claim = {
    ...(!isAll && { subjects }),
    resource: 'tasks',
    actions,
    ...(fields && { fields }),
    ...(column && { [word]: column }),
  }
  const others = apart.length === 0 ? [] : [{ name: 'apart', 'roles-apart': apart }]
  return stringify([{ name: 'promised', [kind]: claim }, ...others])
}

type Answerer = (drawn: Drawn) => Status | undefined

/** Undefined for a guarantee that is a mistake: `open>open` can't be parsed, for example. */
const proved: Answerer = (drawn) => {
  const parsed = parse(drawn)
  return parsed && statusOf(parsed)
}

function parse({ policy, promised, apart }: Drawn): Policy | undefined {
  const files = render(policy, { lineEnd: '\n', padding: ' ', comments: false })
  try {
    const guarantees = { name: 'guarantees.yaml', text: textOf(promised, apart) }
    return parsePolicy({ ...files, 'guarantees.yaml': guarantees }, LANGUAGE_RESOURCES)
  } catch (error) {
    if (error instanceof FileError) return undefined
    throw error
  }
}

function statusOf(policy: Policy, now = 0): Status {
  const [guarantee] = policy.guarantees
  if (!guarantee) throw new Error('there is no guarantee')
  return new Prover(policy, LANGUAGE_RESOURCES, now).answer(guarantee).kind
}

function answersLikeForce(answerer: Answerer, count: (status: Status) => void = () => undefined) {
  return fc.property(drawn, (one) => {
    const status = answerer(one)
    if (status === undefined) return
    count(status)
    expect(status, textOf(one.promised, one.apart)).to.equal(statusByForce(one.policy, one.promised, one.apart))
  })
}

describe('the answer to a guarantee', () => {
  it('is what trying every caller of up to three roles in every situation finds', () => {
    const counts = { proven: 0, broken: 0, undecided: 0 }
    const property = answersLikeForce(proved, (status) => {
      counts[status]++
    })
    return drawing(
      () => fc.assert(property, { numRuns: runs(400) }),
      () => expect(Math.min(counts.proven, counts.broken)).to.be.greaterThan(0),
    )
  })

  it('counts callers whose further role lets them write what the guarantee is about', () => {
    const words = { roles: ROLES, links: [], relations: new Map([['tasks', new Map([['open', OPEN]])]]) }
    const rule = { resource: 'tasks', actions: ['update'], effect: 'allow' } as const
    const views = new Map([
      [
        'tasks',
        new Map([
          ['text', ['note']],
          ['state', ['status']],
        ]),
      ],
    ])
    const rules: readonly OracleRule[] = [
      { ...rule, subject: 'a', relations: ['open'], views: ['text'] },
      { ...rule, subject: 'b', relations: [], views: ['state'] },
    ]
    const promised: Promised = {
      kind: 'never',
      subjects: { except: [] },
      actions: ['update'],
      fields: ['note'],
      terms: { relations: ['open'], after: ['open'] },
    }
    const statusWith = (some: readonly OracleRule[]) => {
      const policy: OraclePolicy = { ...words, views, rules: some }
      expect(proved({ policy, promised })).to.equal(statusByForce(policy, promised))
      return statusByForce(policy, promised)
    }
    expect(statusWith(rules)).to.equal('broken')
    for (const one of rules) expect(statusWith([one])).to.equal('proven')
  })

  it('counts a role with the rules of another one that stays apart from the role asked about', () => {
    const rule = { resource: 'tasks', actions: ['read'], relations: [], views: ['*'], effect: 'allow' } as const
    const rules: readonly OracleRule[] = ['a', 'b'].map((subject) => ({ ...rule, subject }))
    const policy: OraclePolicy = { roles: ROLES, links: [], relations: new Map(), views: new Map(), rules }
    const promised: Promised = { kind: 'never', subjects: ['c'], actions: ['read'] }
    for (const [apart, status] of [
      [['a', 'c'], 'broken'],
      [['b', 'c'], 'broken'],
      [['a', 'b', 'c'], 'proven'],
    ] as const) {
      expect(statusByForce(policy, promised, apart)).to.equal(status)
      expect(proved({ policy, promised, apart })).to.equal(status)
    }
  })

  /** Each is wrong in one way; the property above must see it. */
  const wrong: Readonly<Record<string, (drawn: Drawn) => Drawn>> = {
    'ignores denies': withRules((rules) => rules.filter(({ effect }) => effect === 'allow')),
    'ignores rules of users': withRules((rules) => rules.filter(({ subject }) => !subject.startsWith('user:'))),
    'ignores right sides': withRules((rules) => rules.map(({ after, ...rule }) => rule)),
    'ignores the fields': ({ promised: { fields, ...promised }, ...drawn }) => ({ ...drawn, promised }),
    'ignores what is said behind unless and when': ({ promised: { terms: _, ...promised }, ...drawn }) => ({
      ...drawn,
      promised,
    }),
    'asks everybody': ({ promised, ...drawn }) => ({ ...drawn, promised: { ...promised, subjects: { except: [] } } }),
    'ignores that roles stay apart': ({ apart: _, ...drawn }) => drawn,
  }

  for (const [fault, tamper] of Object.entries(wrong)) {
    it(`is compared so that an answerer is found out that ${fault}`, () => {
      const outcome = fc.check(
        answersLikeForce((one) => proved(tamper(one))),
        { numRuns: 3000, seed: 1, endOnFailure: true },
      )
      expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
    })
  }
})

describe('the answer to a guarantee where rules end', () => {
  const TIMES = [0, 10, 20, 30]

  /** At each time, the rules that live then are proved as if they had no end. */
  function oneByOne({ rules, ...policy }: Policy): Status {
    const living = (time: number) => rules.filter(({ until }) => until === undefined || time < until)
    const all = TIMES.map((time) => statusOf({ ...policy, rules: living(time).map(({ until: _, ...rule }) => rule) }))
    return all.includes('broken') ? 'broken' : (all[0] ?? 'undecided')
  }

  function answersLike(answerer: (policy: Policy) => Status) {
    return fc.property(drawn, fc.array(fc.constantFrom(undefined, 10, 20, 30), { minLength: 1 }), (one, untils) => {
      const parsed = parse(one)
      if (!parsed) return
      const rules = parsed.rules.map(({ until: _, ...rule }, i): Rule => {
        const until = untils[i % untils.length]
        return until === undefined ? rule : { ...rule, until }
      })
      const policy = { ...parsed, rules }
      expect(answerer(policy), textOf(one.promised)).to.equal(oneByOne(policy))
    })
  }

  it('is what proving it at every time finds', () => {
    fc.assert(
      answersLike((policy) => statusOf(policy)),
      { numRuns: runs(600) },
    )
  })

  for (const [fault, answerer] of Object.entries({
    'looks only at now': (policy: Policy) =>
      statusOf({ ...policy, rules: policy.rules.map(({ until: _, ...r }) => r) }),
    'looks only at the last time': (policy: Policy) => statusOf(livingAt(policy, 29), 29),
  })) {
    it(`is compared so that an answerer is found out that ${fault}`, () => {
      const outcome = fc.check(answersLike(answerer), { numRuns: 3000, seed: 1, endOnFailure: true })
      expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
    })
  }

  it('is undecided beyond a bound of ends of one caller, however many other callers have', () => {
    const rule: Rule = {
      line: 1,
      subject: 'a',
      resource: 'tasks',
      actions: ['read'],
      before: [],
      views: ['*'],
      effect: 'deny',
    }
    const ending = (many: number, subject: (i: number) => string) =>
      Array.from({ length: many }, (_, i): Rule => ({ ...rule, subject: subject(i), until: i + 1 }))
    const promised: Promised = { kind: 'never', subjects: ['everyone'], actions: ['read'] }
    const [{ policy }] = fc.sample(drawn, { numRuns: 1, seed: 1 }) as [Drawn]
    const parsed = parse({ policy, promised })
    expect(parsed && statusOf({ ...parsed, rules: ending(5000, (i) => `user:u${i}`) })).to.equal('proven')
    expect(parsed && statusOf({ ...parsed, rules: ending(200, () => 'everyone') })).to.equal('proven')
    expect(parsed && statusOf({ ...parsed, rules: ending(201, () => 'everyone') })).to.equal('undecided')
  })
})

function withRules(edit: (rules: readonly OracleRule[]) => readonly OracleRule[]): (drawn: Drawn) => Drawn {
  return ({ policy, promised }) => ({ policy: { ...policy, rules: edit(policy.rules) }, promised })
}
