/** The index of a snapshot: of the rules that live, exactly those that name a subject and a resource, as they were written. */
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import type { Policy, Rule, Term } from '../../src/decide/policy.ts'
import { buffersOf, LivingRules, lives, packPolicy } from '../../src/decide/rules/rule-table.ts'

/** Names that a sloppy index would take for one another, or find in what lies before or behind them. */
const SUBJECTS = ['a', 'aa', 'ab', 'b', 'user:a', 'user:é', 'user:\u{1F600}', 'user:\uFFFD', 'everyone', 'user:a,b']
const RESOURCES = ['docs', 'doc', '*', 'system/*', 'system/health']

type Ask = (rules: readonly Rule[], question: Question) => readonly Rule[]

interface Question {
  readonly subjects: readonly string[]
  readonly resources: readonly string[]
  readonly now: number
}

function term(name: string, negated = false): Term {
  return { name, negated }
}

const randomRule: fc.Arbitrary<Rule> = fc.record(
  {
    line: fc.nat(500),
    subject: fc.constantFrom(...SUBJECTS),
    resource: fc.constantFrom(...RESOURCES),
    actions: fc.constantFrom(['*'], ['read'], ['read', 'list']),
    before: fc.constantFrom([], [term('owner')], [term('draft'), term('owner', true)]),
    after: fc.constantFrom([], [term('draft')]),
    views: fc.constantFrom(['*'], ['public']),
    effect: fc.constantFrom<'allow' | 'deny'>('allow', 'deny'),
    until: fc.nat(3),
  },
  { requiredKeys: ['line', 'subject', 'resource', 'actions', 'before', 'views', 'effect'] },
)
const randomRules = fc.uniqueArray(randomRule, { selector: ({ line }) => line, maxLength: 40 })
const randomQuestion = fc.record({
  subjects: fc.subarray([...SUBJECTS, '', 'c', 'user:']),
  resources: fc.subarray([...RESOURCES, 'docsdoc']),
  now: fc.integer({ min: -1, max: 4 }),
})

const packed: Ask = (rules, { subjects, resources, now }) => living(rules, now).about(subjects, resources)

function living(rules: readonly Rule[], now: number): LivingRules {
  // Over to another thread and back, as a policy comes that was parsed apart.
  const policy = packPolicy({ rules: inOrder(rules) } as unknown as Policy)
  return new LivingRules(structuredClone(policy, { transfer: buffersOf(policy) }).table, now)
}

function inOrder(rules: readonly Rule[]): readonly Rule[] {
  return rules.toSorted((a, b) => a.line - b.line)
}

function asWritten(ask: Ask) {
  return fc.property(randomRules, randomQuestion, (rules, question) => {
    const { subjects, resources, now } = question
    const expected = inOrder(rules).filter(
      (rule) => subjects.includes(rule.subject) && resources.includes(rule.resource) && lives(rule, now),
    )
    expect(ask(rules, question)).to.deep.equal(expected)
  })
}

describe('the rules of a snapshot', () => {
  it('are found by subject and resource, as they were written and while they live', () => {
    fc.assert(asWritten(packed), { numRuns: 500 })
  })

  it('name just the subjects of those that live', () => {
    const property = fc.property(randomRules, fc.integer({ min: -1, max: 4 }), (rules, now) => {
      const named = new Set(rules.filter((rule) => lives(rule, now)).map(({ subject }) => subject))
      const found = living(rules, now)
      expect([...SUBJECTS, 'c', ''].filter((name) => found.names(name))).to.have.members([...named])
      expect(found.subjects).to.deep.equal([...named].sort())
    })
    fc.assert(property, { numRuns: 300 })
  })

  for (const [fault, ask] of Object.entries<Ask>({
    'forgets ends': (rules, question) => packed(rules, { ...question, now: -1 }),
    'takes one resource only': (rules, question) =>
      packed(rules, { ...question, resources: question.resources.slice(0, 1) }),
    'gives them in order of subjects': (rules, question) =>
      question.subjects.flatMap((subject) => packed(rules, { ...question, subjects: [subject] })),
  })) {
    it(`are compared so that an index is found out that ${fault}`, () => {
      const outcome = fc.check(asWritten(ask), { numRuns: 2000, seed: 1, endOnFailure: true })
      expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
    })
  }
})
