import { expect } from 'chai'
import { errorLines, expectedLines } from './compile-errors.ts'

describe('permits in the type system', () => {
  it('a handler that writes what no decision permitted does not compile', async () => {
    expect(await errorLines('handler-without-permit.ts')).to.deep.equal(expectedLines('handler-without-permit.ts'))
  })

  it('a handler that writes beside the record of its request does not compile', async () => {
    expect(await errorLines('handler-without-record.ts')).to.deep.equal(expectedLines('handler-without-record.ts'))
  })

  it('a permit of one kind is not a permit of another', async () => {
    expect(await errorLines('permit-of-another-kind.ts')).to.deep.equal(expectedLines('permit-of-another-kind.ts'))
  })

  it('a handler that asked compiles', async () => {
    expect(await errorLines('handler-with-permit.ts')).to.deep.equal([])
  })
})
