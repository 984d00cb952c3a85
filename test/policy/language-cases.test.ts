/** The worked cases of the language: the oracle answers each as its file expects. */
import { expect } from 'chai'
import { faultsIn, LANGUAGE_CASES, requestOf, worldOf } from './language-cases.ts'
import { answer } from './oracle/answer.ts'

describe('the oracle', () => {
  for (const one of LANGUAGE_CASES) {
    it(`says what is expected: ${one.about}: ${one.name}`, () => {
      const { error, ...expected } = one.expect
      const faults = faultsIn(one)
      expect(faults).to.deep.equal(error === undefined ? [] : [error])
      if (error !== undefined) return
      const said: Readonly<Record<string, unknown>> = { ...answer(worldOf(one), requestOf(one)) }
      expect(said.stepUp).to.deep.equal(expected.stepUp)
      for (const [name, value] of Object.entries(expected)) expect(said[name], name).to.deep.equal(value)
    })
  }

  it('is asked about every case', () => {
    expect(LANGUAGE_CASES).to.have.length(146 + 20)
  })
})
