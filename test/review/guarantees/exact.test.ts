/** A guarantee is proven where trying every caller in every situation breaks it nowhere, for policies of the whole language. */
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import { stringify } from 'yaml'
import { Prover } from '../../../src/analysis/guarantees/prove.ts'
import { FileError } from '../../../src/base/diagnostic.ts'
import { parsePolicy } from '../../../src/policy/parse/parse-policy.ts'
import { terms } from '../../policy/arbitrary-language.ts'
import { LANGUAGE_RESOURCES } from '../../policy/language-fixture.ts'
import { render } from '../../policy/render.ts'
import type { OraclePolicy, OracleRule } from '../../policy/world.ts'
import { drawing, runs } from '../../runs.ts'
import { languagePair, ROLES } from '../diff/language-pairs.ts'
import { namesFor, type Promised, type Status, statusByForce } from './by-force.ts'

const ACTIONS = ['list', 'read', 'create', 'replace', 'update', 'claim', 'delete']
const WRITES = ['replace', 'update', 'claim']
const FIELDS = ['ownerId', 'status', 'note', 'assigneeId', 'total']

interface Drawn {
  readonly policy: OraclePolicy
  readonly promised: Promised
}

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
    })
    .map(({ kind, subjects, actions, fields, left, right }) => {
      const onWrites = right !== null && actions.every((name) => WRITES.includes(name))
      const hasFields = fields !== null && !actions.includes('delete')
      const said = { relations: left ?? [], ...(onWrites && { after: right }) }
      const isAny = said.relations.length === 0 && !onWrites
      return {
        policy,
        promised: { kind, subjects, actions, ...(hasFields && { fields }), ...(!isAny && { terms: said }) },
      }
    })
})

function textOf({ kind, subjects, actions, fields, terms: said }: Promised): string {
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
  return stringify([{ name: 'promised', [kind]: claim }])
}

type Answerer = (drawn: Drawn) => Status | undefined

/** Undefined for a guarantee that is a mistake: `open>open` can't be parsed, for example. */
const proved: Answerer = ({ policy, promised }) => {
  const files = render(policy, { lineEnd: '\n', padding: ' ', comments: false })
  try {
    const guarantees = { name: 'guarantees.yaml', text: textOf(promised) }
    const parsed = parsePolicy({ ...files, 'guarantees.yaml': guarantees }, LANGUAGE_RESOURCES)
    const [guarantee] = parsed.guarantees
    return guarantee && new Prover(parsed, LANGUAGE_RESOURCES, 0).answer(guarantee).kind
  } catch (error) {
    if (error instanceof FileError) return undefined
    throw error
  }
}

function answersLikeForce(answerer: Answerer, count: (status: Status) => void = () => undefined) {
  return fc.property(drawn, (one) => {
    const status = answerer(one)
    if (status === undefined) return
    count(status)
    expect(status, textOf(one.promised)).to.equal(statusByForce(one.policy, one.promised))
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
  }).timeout(300_000)

  /** Each is wrong in one way; the property above must see it. */
  const wrong: Readonly<Record<string, (drawn: Drawn) => Drawn>> = {
    'ignores denies': withRules((rules) => rules.filter(({ effect }) => effect === 'allow')),
    'ignores rules of users': withRules((rules) => rules.filter(({ subject }) => !subject.startsWith('user:'))),
    'ignores right sides': withRules((rules) => rules.map(({ after, ...rule }) => rule)),
    'ignores the fields': ({ policy, promised: { fields, ...promised } }) => ({ policy, promised }),
    'ignores what is said behind unless and when': ({ policy, promised: { terms: _, ...promised } }) => ({
      policy,
      promised,
    }),
    'asks everybody': ({ policy, promised }) => ({ policy, promised: { ...promised, subjects: { except: [] } } }),
  }

  for (const [fault, tamper] of Object.entries(wrong)) {
    it(`is compared so that an answerer is found out that ${fault}`, () => {
      const outcome = fc.check(
        answersLikeForce((one) => proved(tamper(one))),
        { numRuns: 3000, seed: 1, endOnFailure: true },
      )
      expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
    }).timeout(120_000)
  }
})

function withRules(edit: (rules: readonly OracleRule[]) => readonly OracleRule[]): (drawn: Drawn) => Drawn {
  return ({ policy, promised }) => ({ policy: { ...policy, rules: edit(policy.rules) }, promised })
}
