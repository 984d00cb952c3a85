/** A full file of the log costs no request the time of the disk, and nothing counts as durable before the disk has it. */
import { expect } from 'chai'
import { RetiredFiles } from '../../src/decision-log/log-file.ts'

describe('the files that the log leaves behind', () => {
  const turn = () => new Promise((done) => setImmediate(done))

  it('are durable only when the disk has every one of them, and are closed then', async () => {
    const disk = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const closed: number[] = []
    const files = new RetiredFiles(
      (descriptor) => disk[descriptor]?.promise ?? Promise.reject(new Error('unknown')),
      async (descriptor) => void closed.push(descriptor),
    )
    files.add(0)
    files.add(1)
    let durable = false
    const asked = files.durable().then(() => {
      durable = true
    })
    disk[1]?.resolve()
    await turn()
    expect([durable, closed]).to.deep.equal([false, [1]])
    disk[0]?.resolve()
    await asked
    expect(closed).to.deep.equal([1, 0])
  })

  it('tell once that the disk failed, whichever of them it was, and are closed nevertheless', async () => {
    const closed: number[] = []
    const sync = async (descriptor: number) => {
      if (descriptor === 0) throw new Error('no space')
    }
    const files = new RetiredFiles(sync, async (descriptor) => void closed.push(descriptor))
    for (const descriptor of [0, 1]) files.add(descriptor)
    const failure = await files.durable().catch((error: Error) => error.message)
    expect([failure, closed.toSorted()]).to.deep.equal(['no space', [0, 1]])
    files.add(2)
    await files.durable()
  })
})
