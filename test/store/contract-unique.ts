/** The contract: a unique field's value belongs to one object. */
import { expect } from 'chai'
import { UniqueTaken } from '../../src/store/errors.ts'
import { ALL, type Open } from './engine.ts'
import { change, creation, failure, removal } from './fixture.ts'

export function describeUniqueFields(open: Open): void {
  it('refuses a taken value of a unique field, by create and by update, and names the field', async () => {
    const { store } = await open()
    await store.create(creation('t1', { code: 'x' }))
    await store.create(creation('t2', { code: 'y' }))
    for (const write of [store.create(creation('t3', { code: 'x' })), store.update(change('t2', 1, { code: 'x' }))]) {
      const error = await failure(write)
      expect(error).to.be.instanceOf(UniqueTaken)
      expect((error as UniqueTaken).field).to.equal('code')
    }
    expect(await store.get('things', 't3')).to.equal(undefined)
    expect((await store.get('things', 't2'))?.document).to.deep.equal({ code: 'y' })
  })

  it('refuses a taken id the same way', async () => {
    const { store } = await open()
    await store.create(creation('t1', {}))
    const error = await failure(store.create(creation('t1', {})))
    expect(error).to.be.instanceOf(UniqueTaken)
    expect((error as UniqueTaken).field).to.equal('id')
  })

  it('takes absent and null values, values of other types and other fields for different', async () => {
    const { store } = await open()
    const documents = [
      {},
      {},
      { code: null },
      { code: null },
      { code: '1' },
      { code: 1 },
      { code: true },
      { code: 'A' },
    ]
    for (const [index, document] of [...documents, { code: 'a' }, { status: 'a' }].entries()) {
      await store.create(creation(`t${index}`, document))
    }
    expect(await store.list('things', ALL)).to.have.length(10)
  })

  it('frees a value with its object, and lets an object keep its own', async () => {
    const { store } = await open()
    await store.create(creation('t1', { code: 'x' }))
    await store.update(change('t1', 1, { code: 'x', status: 'open' }))
    await store.delete(removal('t1', 2))
    await store.create(creation('t2', { code: 'x' }))
  })

  it('lets exactly one of 50 racing creates have a unique value', async () => {
    const { store } = await open()
    const racing = Array.from({ length: 50 }, (_, index) => store.create(creation(`t${index}`, { code: 'x' })))
    const outcomes = await Promise.allSettled(racing)
    expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).to.have.length(1)
    expect(await store.list('things', ALL)).to.have.length(1)
  })
}
