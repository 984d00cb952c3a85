/** Mistakes in a policy are noticed by an expectation, or change no answer at all. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { refuseBroken } from '../../src/analysis/guarantees/faults.ts'
import { FileError } from '../../src/base/diagnostic.ts'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import { MUTATE_FORMATS } from '../../src/tools/matrix/mutate/formats.ts'
import {
  judgeMutant,
  type Mutation,
  type MutationContext,
  makeMutants,
  mutate,
  scoreOf,
  tryMutant,
} from '../../src/tools/matrix/mutate/judge-mutant.ts'
import { type Mutant, mutateRules, vocabularyOf } from '../../src/tools/matrix/mutate/mutants.ts'
import { OPERATORS, type Operator } from '../../src/tools/matrix/mutate/operators.ts'
import { statementsOf } from '../../src/tools/matrix/predict/expectations-met.ts'
import type { PredictedSuite } from '../../src/tools/matrix/predict/suite.ts'
import { withRules } from '../policy-text.ts'
import { ROOT, suiteOf, suiteOfText, suiteWith } from './predict/suites.ts'

const { text: formatText, json: formatJson } = MUTATE_FORMATS

const SCHEMA = JSON.parse(readFileSync(join(ROOT, 'docs/schemas/matrix-mutate.schema.json'), 'utf8'))
const validate = new Ajv2020({ strict: true, allErrors: true }).compile(SCHEMA)

const NOTES = 'method,path,object,member\nGET,/api/v1/notes/{id},own,200\nGET,/api/v1/notes/{id},other,403\n'

function mutated(suite: PredictedSuite, ...only: readonly Operator[]): Promise<Mutation> {
  return mutate(suite, { only: only.length > 0 ? new Set(only) : undefined, observe: () => undefined })
}

/** Of the expectation that notices the mistake. */
async function placeOf(context: MutationContext, mutant: Mutant) {
  const tried = await tryMutant(context, mutant)
  return typeof tried === 'string' ? tried : tried.noticed
}

function nameOf({ file, line, change }: Mutant): string {
  return `${file}:${line} ${change}`
}

const GUARANTEES = `
- name: notes owned
  never: { resource: notes, actions: [create, replace, update, delete], unless: owner }
- name: auditors write no order
  never: { subjects: [auditor], resource: orders, actions: [create, replace, update, delete] }
- name: admins list notes
  always: { subjects: [admin], resource: notes, actions: [list] }
`
const GUARANTEED = ['notes owned', 'auditors write no order', 'admins list notes']

/** The guarantees for which a server refuses the mutant. */
function guaranteesRefusing({ resources, predictor }: PredictedSuite, { files }: Mutant): readonly string[] {
  try {
    refuseBroken(parsePolicy(files, resources), files, { resources, now: predictor.now })
    return []
  } catch (error) {
    if (!(error instanceof FileError)) throw error
    return error.diagnostics.map(({ message }) => /the guarantee `(.*?)`/.exec(message)?.[1] ?? message)
  }
}

describe('sallyport matrix mutate', () => {
  let shipped: Mutation

  before(async () => {
    shipped = await mutated(await suiteOf(join(ROOT, 'test/matrix')))
  })

  it('finds that the shipped matrices notice every mistake in the shipped policy that a row can show', () => {
    expect(shipped.unmet).to.equal(0)
    const survived = shipped.judged.filter(({ verdict }) => verdict.kind === 'survived')
    const text = formatText({ ...shipped, judged: survived })
    expect(text.match(/no row of a matrix notices it: .*, asked by a gateway, is 403/g)).to.have.length(survived.length)
    expect(survived.map(({ mutant }) => mutant.line)).to.deep.equal([18, 68, 69])
    // Rights to fields that only the server writes, to create one's own record, and to filter: no row asks for them.
    const changes = shipped.judged.flatMap(({ verdict }) => (verdict.kind === 'not-found' ? verdict.differs : []))
    for (const change of changes) {
      expect(change).to.match(/field (id|createdAt|updatedAt) on|gains create on users \(owner\)|filtering and sorting/)
    }
    expect(changes).to.have.length(14)
    expect(scoreOf(shipped)).to.be.within(97, 99)
  })

  it('counts what it did not find, and says what it tried', () => {
    const lost = shipped.judged.filter(({ verdict }) => verdict.kind === 'not-found')
    const alone = { ...shipped, judged: lost }
    expect(scoreOf(alone)).to.equal(0)
    expect(formatText(alone)).to.match(
      /support gains field id on orders .*\n +tried \d+ requests: PATCH \/api\/orders\/\{id\}, as support$/m,
    )
  })

  it('makes only the mistakes that can matter to a resource, and judges them on it', async () => {
    const suite = await suiteOf(join(ROOT, 'test/matrix'))
    const about = await mutate(suite, { only: undefined, resources: ['notes'], observe: () => undefined })
    const resources = new Set(about.judged.map(({ mutant }) => mutant.resource))
    expect(resources).to.deep.equal(new Set(['notes', '*', undefined]))
    const [one] = about.judged.filter(({ mutant }) => mutant.resource === '*' && mutant.operator === 'drop-deny')
    expect(one?.verdict.kind).to.equal('killed')
    const message = 'there is no resource `note`: write one of'
    const refused = await mutate(suite, { only: undefined, resources: ['note'], observe: () => undefined }).catch(
      String,
    )
    expect(refused).to.include(message)
  })

  it('tells how far it is from the beginning', async () => {
    const told: string[] = []
    const observe = (done: number, of: number) => told.push(`${done} of ${of}`)
    const { judged } = await mutate(await suiteOfText(NOTES), { only: new Set(['drop-deny']), observe })
    expect(told).to.deep.equal([...Array(judged.length + 1).keys()].map((done) => `${done} of ${judged.length}`))
  })

  it('says that only a case can notice a mistake in what a view means, and it does', async () => {
    const cells = await suiteOf(
      ...['users', 'accounts', 'notes', 'orders'].map((name) => join(ROOT, `test/matrix/${name}.csv`)),
    )
    const mutation = await mutated(cells, 'add-field')
    expect(scoreOf(mutation)).to.be.lessThan(100)
    expect(formatText(mutation)).to.match(
      /a case in steps that names the fields would notice it: GET \/profile\/\{id\} \(other\) as everyone/,
    )
    const whole = shipped.judged.filter(({ mutant }) => mutant.operator === 'add-field')
    expect(whole).to.not.be.empty
    expect(whole.filter(({ verdict }) => verdict.kind === 'survived')).to.deep.equal([])
  })

  it('makes every kind of mistake there', () => {
    const made = new Set(shipped.judged.map(({ mutant }) => mutant.operator))
    // test/matrix/language.test.ts makes those of right sides and conditions.
    const elsewhere = ['drop-result', 'change-condition']
    const usual = Object.keys(OPERATORS).filter((operator) => !elsewhere.includes(operator))
    expect([...made].filter((operator) => !elsewhere.includes(operator)).sort()).to.deep.equal(usual.sort())
    expect(shipped.judged.length).to.be.greaterThan(300)
  })

  it('takes a mistake that the parser refuses for no mistake', () => {
    const invalid = shipped.judged.flatMap(({ verdict }) => (verdict.kind === 'invalid' ? [verdict.why] : []))
    expect(invalid).to.deep.equal([
      'the role `support` inherits itself through `member`',
      'the role `admin` inherits itself through `member`',
    ])
  })

  it('calls none equivalent that an expectation notices', async () => {
    const operators = ['widen-fields', 'add-field', 'drop-relation', 'any-object', 'change-relation'] as const
    const unaided = await mutated(await suiteOf(join(ROOT, 'test/matrix/system.csv')), ...operators)
    const verdicts = new Map(unaided.judged.map(({ mutant, verdict }) => [nameOf(mutant), verdict.kind]))
    const killed = shipped.judged.filter(
      ({ mutant, verdict }) => verdict.kind === 'killed' && verdicts.has(nameOf(mutant)),
    )
    expect(killed.length).to.be.greaterThan(30)
    expect(killed.filter(({ mutant }) => verdicts.get(nameOf(mutant)) === 'equivalent')).to.deep.equal([])
  })

  it('asks no caller about changed rules of other subjects, and misses no mistake by that', async () => {
    const suite = await suiteOf(join(ROOT, 'test/matrix/notes.csv'), join(ROOT, 'test/matrix/pairs.csv'))
    const { met } = await statementsOf(suite)
    const everyone = met.map(({ subjects: _, ...one }) => one)
    const mutants = mutateRules(suite, vocabularyOf(suite.evaluated.policy))
    let noticed = 0
    for (const mutant of mutants.filter(({ resource }) => resource === 'notes' || resource === '*')) {
      const [some, all] = await Promise.all([met, everyone].map((stated) => placeOf({ ...suite, stated }, mutant)))
      expect(some, nameOf(mutant)).to.deep.equal(all)
      if (all !== undefined) noticed++
    }
    expect(noticed).to.be.greaterThan(20)
    expect(met.filter(({ subjects }) => subjects).length).to.equal(met.length)
  })

  it('tries the values that relations compare, one among thousands as each may be', async () => {
    const rules = readFileSync(join(ROOT, 'policies/policy.csv'), 'utf8')
    const owned = readFileSync(join(ROOT, 'policies/ownership.yaml'), 'utf8')
    const suite = await suiteWith({
      'policy.csv': withRules(rules, 'p, support, orders, delete, west, *, allow'),
      'ownership.yaml': owned.replace(/^( *)draft: .*$/m, '$&\n$1west: { field: currency, in: [EUR, CHF] }'),
    })
    const { files, resources, evaluated } = suite
    const only = new Set<Operator>(['change-relation', 'add-action'])
    const mutants = makeMutants({ files, resources }, evaluated.policy, { only, valuesOf: () => [] })
    const asked = mutants.filter(({ change }) => /west.*(\["EUR"\]\}|delete\|create)$/.test(change))
    const verdicts = await Array.fromAsync(asked, (mutant) => judgeMutant({ ...suite, stated: [] }, mutant))
    expect(verdicts.map(({ verdict }) => verdict.kind)).to.deep.equal(['survived', 'survived'])
  })

  it('shows what nobody notices, with the row that would', async () => {
    const mutation = await mutated(await suiteOfText(NOTES), 'drop-deny')
    expect(scoreOf(mutation)).to.equal(0)
    expect(formatText(mutation)).to.match(
      /this row would notice it:\n\s+method,path,object,becomes,admin\+auditor\n\s+POST,\/api\/accounts,none,other,403/,
    )
  })

  it('the row that it shows does notice', async () => {
    const before = await mutated(await suiteOfText(NOTES), 'drop-rule', 'any-object', 'remove-action', 'drop-deny')
    const witnesses = JSON.parse(formatJson(before)).mutants.filter(
      ({ witness }: { witness?: { rows?: string; body?: object } }) => witness?.rows && !witness.body,
    )
    expect(witnesses.length).to.be.greaterThan(40)
    for (const { place, change, witness } of witnesses.filter((_: unknown, i: number) => i % 6 === 0)) {
      const suite = await suiteOfText(witness.rows)
      const shown = before.judged.filter(({ mutant }) => nameOf(mutant) === `${place} ${change}`)
      const { met: stated } = await statementsOf(suite)
      const again = await Array.fromAsync(shown, ({ mutant }) => judgeMutant({ ...suite, stated }, mutant))
      expect(
        again.map(({ verdict }) => verdict.kind),
        `${place} ${change}`,
      ).to.deep.equal(['killed'])
    }
  })

  it('says which mistakes each guarantee notices: those with which no server starts', async () => {
    const suite = await suiteWith({ 'guarantees.yaml': GUARANTEES })
    const mutation = await mutated(suite, 'drop-deny', 'any-object', 'change-relation')
    const noticed: Record<string, number> = Object.fromEntries(GUARANTEED.map((name) => [name, 0]))
    for (const { mutant, verdict, breaks } of mutation.judged) {
      const refused = verdict.kind === 'invalid' ? [] : guaranteesRefusing(suite, mutant)
      expect(
        breaks.map(({ name }) => name),
        nameOf(mutant),
      ).to.deep.equal(refused)
      for (const name of refused) noticed[name] = (noticed[name] ?? 0) + 1
    }
    expect(Object.values(noticed).map((count) => count > 0)).to.deep.equal([true, true, false])
    const json = JSON.parse(formatJson(mutation))
    expect(validate(json), JSON.stringify(validate.errors)).to.equal(true)
    expect(json.guarantees).to.deep.equal(Object.entries(noticed).map(([name, notices]) => ({ name, notices })))
    expect(formatText(mutation)).to.match(/notes owned {2}\d+, and \d+ of them no other guarantee\n/)
    expect(formatText(mutation)).to.match(/admins list notes {2}none: no mistake that was made breaks it\n/)
    // Expectations decide the score: a guarantee that notices a mistake is no test of answers.
    expect(mutation.judged.filter(({ breaks, verdict }) => breaks.length > 0 && verdict.kind === 'survived')).to.not.be
      .empty
  })

  it('prints JSON that keeps to its schema', async () => {
    const json = JSON.parse(
      formatJson(await mutated(await suiteOfText(NOTES), 'drop-rule', 'add-field', 'add-inheritance')),
    )
    expect(validate(json), JSON.stringify(validate.errors)).to.equal(true)
    expect(new Set(json.mutants.map(({ outcome }: { outcome: string }) => outcome))).to.include.members([
      'killed',
      'survived',
      'invalid',
    ])
    expect(validate({ ...json, mutants: [{ ...json.mutants[0], outcome: 'lost' }] })).to.equal(false)
  })
})
