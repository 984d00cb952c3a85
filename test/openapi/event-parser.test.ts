/** The reader of event streams in a made client: any text, in any pieces, is what another implementation makes of it. */
import { expect } from 'chai'
import { createParser } from 'eventsource-parser'
import fc from 'fast-check'
import { EventParser } from '../../templates/client/event-parser.ts'
import { runs } from '../runs.ts'

interface Heard {
  readonly events: readonly unknown[]
  readonly retry: number | undefined
}

const ends = fc.constantFrom('\n', '\r', '\r\n')
const value = fc.string({
  unit: fc.constantFrom('a', ' ', ':', '\0', 'é', '😀', '\u2028', '\ufeff', '1'),
  maxLength: 6,
})
const name = fc.constantFrom('data', 'data', 'data', 'event', 'id', 'retry', '', 'Data', ' data', 'dat', 'datas', 'x')
const line = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(name, fc.constantFrom(':', ': ', ':  '), value).map((parts) => parts.join('')) },
  { weight: 1, arbitrary: name },
  { weight: 1, arbitrary: fc.nat(99_999).map((number) => `retry:${number}`) },
  { weight: 4, arbitrary: fc.constant('') },
)
const text = fc
  .tuple(fc.constantFrom('', '\ufeff'), fc.array(fc.tuple(line, ends), { maxLength: 30, size: 'max' }), line)
  .map(([mark, lines, last]) => mark + lines.flat().join('') + last)
const cuts = fc.array(fc.nat(200), { maxLength: 12, size: 'max' })

describe('the reader of event streams in a made client', () => {
  it('finds what another implementation finds, however the bytes are cut', () => {
    let most = 0
    fc.assert(
      fc.property(text, cuts, (stream, at) => {
        const expected = byOther(stream)
        expect(read(piecesOf(stream, at))).to.deep.equal(expected)
        most = Math.max(most, expected.events.length)
      }),
      { numRuns: runs(1000) },
    )
    expect(most).to.be.greaterThan(3)
  })

  it('would find something else if a line feed in the next piece ended a line again', () => {
    const cut = ['data: 1\r', '\ndata: 2\n\n']
    expect(read(cut).events).to.deep.equal([{ id: '', kind: 'message', data: '1\n2' }])
    const forgetful = cut.flatMap((piece) => read([piece]).events)
    expect(forgetful).to.not.deep.equal(read(cut).events)
  })

  it('goes on after the last block that was whole, also one without an event', () => {
    const parser = new EventParser('0', 100)
    const feed = (piece: string) => {
      const count = [...parser.read(piece)].length
      return [count, parser.lastId]
    }
    expect(feed('id: 1\ndata: {}\n')).to.deep.equal([0, '0'])
    expect(feed('\nid: 2\n\n')).to.deep.equal([1, '2'])
    expect(feed('id: 3\ndata: never whole')).to.deep.equal([0, '2'])
    expect(feed('\n\ndata: of the same id\n\n')).to.deep.equal([2, '3'])
  })

  it('has a bound for an event, in one line or many, and keeps nothing beyond it', () => {
    const size = (pieces: readonly string[]) => () => read(pieces, 1000)
    const endless = Array.from({ length: 40 }, () => 'x'.repeat(100))
    expect(size(['data: ', ...endless])).to.throw(RangeError, 'more than 1000 characters')
    expect(size(endless.map((one) => `data: ${one}\n`))).to.throw(RangeError)
    expect(size([`data: ${endless.join('')}\n\n`])).to.throw(RangeError)
    // Each alone is small enough.
    expect(size(endless.map((one) => `data: ${one}\n\n`))().events).to.have.length(40)
  })
})

function piecesOf(stream: string, at: readonly number[]): readonly string[] {
  const bytes = Buffer.from(stream)
  const decoder = new TextDecoder()
  const places = [0, ...at.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
  return places.slice(1).map((end, i) => decoder.decode(bytes.subarray(places[i], end), { stream: true }))
}

function read(pieces: readonly string[], most = 10_000): Heard {
  const parser = new EventParser('', most)
  const events = pieces.flatMap((piece) => [...parser.read(piece)])
  return { events, retry: parser.retry }
}

/** It gives each block the id that the block has; the standard says that an event has the last id. */
function byOther(stream: string): Heard {
  const events: unknown[] = []
  let id = ''
  let retry: number | undefined
  const parser = createParser({
    onId: (next) => {
      id = next
    },
    onEvent: ({ event, data }) => events.push({ id, kind: event ?? 'message', data }),
    onRetry: (milliseconds) => {
      retry = milliseconds / 1000
    },
  })
  parser.feed(stream)
  return { events, retry }
}
