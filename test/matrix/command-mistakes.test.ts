/** A command needs two rights. What is proven to change no decision about commands changes no answer to one. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import type { Sides } from '../../src/analysis/compared-space.ts'
import { FileError } from '../../src/base/diagnostic.ts'
import { subsets } from '../../src/base/subsets.ts'
import type { Policy } from '../../src/decide/policy.ts'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import { findDifference } from '../../src/tools/matrix/mutate/judge-mutant.ts'
import { type Mutant, mutateLinks, mutateRules, vocabularyOf } from '../../src/tools/matrix/mutate/mutants.ts'
import type { Cell } from '../../src/tools/matrix/predict/cell-fixture.ts'
import { evaluatePolicy } from '../../src/tools/matrix/predict/predict.ts'
import { requestOfCell } from '../../src/tools/matrix/predict/predict-cell.ts'
import type { PredictedSuite } from '../../src/tools/matrix/predict/suite.ts'
import { drawing, runs } from '../runs.ts'
import { ROOT, suiteOf } from './predict/suites.ts'

const COLUMNS = ['any', 'owner', 'draft', 'owner+draft', 'open', '!open', 'placed', 'owner+draft>placed']
const RESULTS = ['placed>shipped', 'open>cancelled', 'any>!shipped', '!owner>any']
const randomRule = fc
  .record({
    subject: fc.constantFrom('everyone', 'member', 'support', 'auditor'),
    actions: fc.subarray(['place', 'ship', 'cancel', 'update'], { minLength: 1, maxLength: 2 }),
    column: fc.constantFrom(...COLUMNS, ...RESULTS),
    fields: fc.constantFrom('*', 'progress'),
    effect: fc.constantFrom('allow', 'allow', 'allow', 'deny'),
  })
  .map(({ subject, actions, column, fields, effect }) =>
    ['p', subject, 'orders', actions.join('|'), column, fields, effect].join(', '),
  )
const random = fc.record({
  rules: fc.array(randomRule, { minLength: 2, maxLength: 7 }),
  inherits: fc.constantFrom('', 'g, support, member\n'),
  picks: fc.array(fc.nat(100_000), { minLength: 12, maxLength: 12 }),
})

const STATES = ['draft+open', 'open+placed', 'shipped', 'cancelled'].flatMap((state) => [state, `owner+${state}`])

/** Each command by each caller on each object, with a body that it takes and with one that it refuses. */
const CELLS: readonly Cell[] = ['place', 'ship', 'cancel'].flatMap((command) =>
  [...STATES, 'missing'].flatMap((state) =>
    subsets(['member', 'support', 'auditor']).flatMap((roles) =>
      [{}, { status: 'draft' }].map(
        (content): Cell => ({
          method: 'POST',
          path: `/api/orders/{id}/${command}`,
          object: state === 'missing' ? { kind: 'missing' } : { kind: 'relations', names: state.split('+') },
          column: { kind: 'roles', roles: roles.toSorted() },
          content,
        }),
      ),
    ),
  ),
)

describe('a mistake in rules about commands', () => {
  let suite: PredictedSuite

  before(async () => {
    suite = await suiteOf()
  })

  type Prove = (policies: Sides<Policy>) => boolean

  const proven: Prove = (policies) => {
    return findDifference(policies, { resources: suite.resources, now: suite.predictor.now }) === undefined
  }

  async function answersBy(policy: Policy, asked: Policy): Promise<readonly (readonly [string, unknown])[]> {
    const evaluated = evaluatePolicy(asked, suite.resources, suite.predictor.now)
    return Array.fromAsync(CELLS, async (cell) => {
      const request = requestOfCell(suite.predictor, policy, cell)
      if (!request) throw new Error(`${JSON.stringify(cell)} can't be asked`)
      const { status, shown } = await suite.predictor.predict({ ...request, evaluated })
      return [JSON.stringify(cell), [status, shown && Object.keys(shown).sort()]] as const
    })
  }

  function parsed(files: Mutant['files']): Policy | undefined {
    try {
      return parsePolicy(files, suite.resources)
    } catch (error) {
      if (error instanceof FileError) return undefined
      throw error
    }
  }

  function holds(prove: Prove, count: (found: 'proven' | 'other') => void = () => undefined) {
    return fc.asyncProperty(random, async ({ rules, inherits, picks }) => {
      const all = ['p, everyone, orders, read, any, *, allow', ...new Set(rules)]
      const files = { ...suite.files, 'policy.csv': { name: 'policy.csv', text: `${all.join('\n')}\n${inherits}` } }
      const before = parsed(files)
      if (!before) return
      const vocabulary = vocabularyOf(before)
      const source = { files, resources: suite.resources }
      const mutants = [...mutateRules(source, vocabulary), ...mutateLinks(source, vocabulary)]
      const was = await answersBy(before, before)
      const picked = picks.flatMap((pick) => mutants[pick % mutants.length] ?? [])
      const changed = picked.flatMap((mutant) => {
        const after = parsed(mutant.files)
        return after
          ? [{ after, change: `${mutant.operator} ${mutant.change}`, isProven: prove({ before, after }) }]
          : []
      })
      for (const { isProven } of changed) count(isProven ? 'proven' : 'other')
      for (const { after, change } of changed.filter(({ isProven }) => isProven)) {
        const is = await answersBy(before, after)
        const other = was.find((answer, i) => !isDeepStrictEqual(answer, is[i]))
        expect(other, change).to.equal(undefined)
      }
    })
  }

  it('changes no answer if it is proven to change none', async () => {
    const found = new Map<string, number>()
    const count = (kind: string) => found.set(kind, (found.get(kind) ?? 0) + 1)
    await drawing(
      () => fc.assert(holds(proven, count), { numRuns: runs(60, 4) }),
      () => {
        expect(found.get('proven')).to.be.greaterThan(0)
        expect(found.get('other')).to.be.greaterThan(0)
      },
    )
  })

  /** Each proves too much in one way; the property must find it out. */
  const wrong: Readonly<Record<string, (policy: Policy) => Policy>> = {
    'does not look at the rules about update': ({ rules, ...rest }) => ({
      ...rest,
      rules: rules.map((rule) => ({ ...rule, actions: rule.actions.filter((name) => name !== 'update') })),
    }),
    "does not look at the command's own rules": ({ rules, ...rest }) => ({
      ...rest,
      rules: rules.map((rule) => ({ ...rule, actions: rule.actions.filter((name) => name === 'update') })),
    }),
    'looks at one role alone': ({ rules, ...rest }) => ({
      ...rest,
      rules: rules.filter(({ subject }) => subject === 'member' || subject === 'everyone'),
    }),
  }
  for (const [fault, change] of Object.entries(wrong)) {
    it(`is found out to be overlooked by a proof that ${fault}`, async () => {
      const prove: Prove = ({ before, after }) => proven({ before: change(before), after: change(after) })
      const outcome = await fc.check(holds(prove), { numRuns: 60, seed: 5, endOnFailure: true })
      expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
    })
  }

  it('that lets one role run a command and another one update is a change for whoever has both', () => {
    const text = readFileSync(join(ROOT, 'policies/policy.csv'), 'utf8')
    const files = (role: string) => ({
      ...suite.files,
      'policy.csv': {
        name: 'policy.csv',
        text: text.replace('p, support, orders, ship, ', `p, ${role}, orders, ship, `),
      },
    })
    const [before, ofAuditors, ofOthers] = ['support', 'auditor', 'pdp-client'].map((role) => parsed(files(role)))
    if (!before || !ofAuditors || !ofOthers) throw new Error('the shipped policy has no rule about shipping')
    const without = (policy: Policy) => ({
      ...policy,
      rules: policy.rules.filter(({ subject, actions }) => subject !== 'support' || !actions.includes('ship')),
    })
    // An auditor may update nothing, whatever else it is; another one may, with the role of support.
    expect(proven({ before: without(before), after: ofAuditors })).to.equal(true)
    expect(proven({ before: without(before), after: ofOthers })).to.equal(false)
  })
})
