import { expect } from 'chai'
import { errorLines, expectedLines } from './compile-errors.ts'

describe('stages in the type system', () => {
  it('a stage that reads what no stage before it leaves does not compile', async () => {
    expect(await errorLines('stages-out-of-order.ts')).to.deep.equal(expectedLines('stages-out-of-order.ts'))
    expect(expectedLines('stages-out-of-order.ts')).to.have.length(4)
  })

  it('stages in their order compile', async () => {
    expect(await errorLines('stages-in-order.ts')).to.deep.equal([])
  })
})
