/** What becomes of the records of one turn when the log takes only the first ones of them. */
import { expect } from 'chai'
import { type DecisionLogEvent, Lines } from '../../src/decision-log/decision-log.ts'
import { CutShort } from '../../src/decision-log/whole-lines.ts'

describe('records that are written together', () => {
  function write(append: () => void, lines: readonly string[]): { ends: string[]; told: DecisionLogEvent[] } {
    const ends: string[] = []
    const told: DecisionLogEvent[] = []
    const log = new Lines(append, (event) => told.push(event))
    for (const line of lines) {
      log.add({ line, done: () => ends.push(`${line} done`), failed: () => ends.push(`${line} failed`) })
    }
    log.flush()
    return { ends, told }
  }
  const cutShort = (whole: number, begun: number) => () => {
    throw new CutShort({ whole, begun }, new Error('no space'))
  }
  const kinds = (told: readonly DecisionLogEvent[]) => told.map(({ kind }) => kind)

  it('are answered as far as they are there; one that is begun is refused, and is not lost', () => {
    const { ends, told } = write(cutShort(1, 2), ['a', 'b', 'c', 'd'])
    expect(ends).to.deep.equal(['a done', 'b failed', 'c failed', 'd failed'])
    expect(kinds(told)).to.deep.equal(['lost', 'lost', 'failing'])
  })

  it('count by their lines where a worker hands on several at once', () => {
    const { ends, told } = write(cutShort(3, 4), ['a\nb', 'c', 'd\ne', 'f'])
    expect(ends).to.deep.equal(['a\nb done', 'c done', 'd\ne failed', 'f failed'])
    expect(kinds(told)).to.deep.equal(['lost', 'lost', 'failing'])
  })

  it('are all lost where nothing says how many are there', () => {
    const fail = () => {
      throw new Error('no space')
    }
    const { ends, told } = write(fail, ['a', 'b'])
    expect(ends).to.deep.equal(['a failed', 'b failed'])
    expect(kinds(told)).to.deep.equal(['lost', 'lost', 'failing'])
  })
})
