/** A case is foretold as the server answers it: the shipped ones hold, and fail where a view means more. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { isPredictable, walkCase } from '../../../src/tools/matrix/predict/expectations-met.ts'
import { runCase } from '../../../src/tools/matrix/run/run-case.ts'
import { startMatrixServer } from '../matrix-server.ts'
import { ROOT, suiteWith } from './suites.ts'

const FOLDER = join(ROOT, 'test/matrix')
const VIEWS = readFileSync(join(ROOT, 'policies/views.yaml'), 'utf8')
const WIDER = { 'views.yaml': VIEWS.replace('public: [id,', 'public: [email, id,') }
const OWNERSHIP = readFileSync(join(ROOT, 'policies/ownership.yaml'), 'utf8')
const LATER = { 'ownership.yaml': OWNERSHIP.replace('in: [draft]', 'in: [draft, cancelled]') }

const POLICIES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'the shipped policy': {},
  'a wider view': WIDER,
  'another relation': LATER,
}

describe('the predictor, of cases in steps', () => {
  for (const [name, files] of Object.entries(POLICIES)) {
    it(`says which hold, as the server has it, under ${name}`, async () => {
      const suite = await suiteWith(files, FOLDER)
      const server = await startMatrixServer([], {
        files: Object.fromEntries(Object.entries(files).map(([file, text]) => [`policies/${file}`, text])),
      })
      const predictable = suite.cases.filter(isPredictable)
      const foretold = await Array.fromAsync(
        predictable,
        async (one) => (await walkCase(suite.predictor, suite.evaluated, one)).holds,
      )
      const outcomes = await Promise.all(predictable.map((one) => runCase(server.suite, server.target, one)))
      await server.stop()
      expect(predictable.length).to.be.greaterThan(4)
      expect(outcomes.map(({ outcome }) => outcome === 'passed')).to.deep.equal(foretold)
      expect(foretold.every(Boolean)).to.equal(Object.keys(files).length === 0)
    })
  }

  it('leaves out what only a server can answer', async () => {
    const [one] = (await suiteWith({}, FOLDER)).cases
    if (!one) throw new Error('there is one')
    const steps = one.steps.map((step) => ({ ...step, headers: { 'if-match': '*' } }))
    expect(isPredictable(one)).to.equal(true)
    expect(isPredictable({ ...one, steps })).to.equal(false)
  })
})
