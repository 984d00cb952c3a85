/** Many objects, read page by page while others create, change and delete: each that was there throughout is seen once. */
import { expect } from 'chai'
import { v4 as uuidv4 } from 'uuid'
import { soak } from '../runs.ts'
import { startTestServer, type TestServer } from '../server.ts'

const COUNT = soak(10_000, 2000)
const PAGE = soak(200, 100)
const ITEMS = [{ sku: 'A', quantity: 1, unitPrice: 1 }]
const STATES = ['draft', 'placed', 'shipped', 'cancelled']

interface Seen {
  readonly id: string
}

/** Reads a page of the list; undefined after the last one. */
type Reader = (page: number) => Promise<readonly Seen[] | undefined>

describe(`a list of ${COUNT} objects while others write`, () => {
  let server: TestServer
  let ada: string
  /** Never deleted by the writers; `moving` ones change their status. */
  let staying: Set<string>
  let moving: Set<string>
  let deletable: string[]
  let clock = Date.parse('2026-01-01T00:00:00Z')
  const now = () => {
    clock += 1
    return new Date(clock)
  }

  before(async () => {
    server = await startTestServer({ now })
    ada = await server.token('ada', 'admin')
    const ids = Array.from({ length: COUNT }, () => uuidv4())
    for (let from = 0; from < COUNT; from += 100) {
      const objects = ids.slice(from, from + 100).map((id, i) => ({
        id,
        document: { customerId: 'ann', status: STATES[i % 4] ?? '', currency: 'EUR', items: ITEMS },
      }))
      await server.app.seeding.insert('orders', objects)
    }
    deletable = ids.filter((_, i) => i % 10 === 0)
    moving = new Set(ids.filter((_, i) => i % 10 === 1))
    staying = new Set(ids.filter((_, i) => i % 10 > 0))
  })
  after(() => server.stop())

  /** One of each kind of write. */
  async function write(round: number): Promise<void> {
    const body = { currency: 'EUR', items: ITEMS, status: STATES[round % 4], customerId: 'ben' }
    const moved = [...moving][(round * 7) % moving.size]
    const gone = deletable.pop()
    const answers = await Promise.all([
      server.ask('POST', '/api/orders', { token: ada, body }),
      server.ask('PATCH', `/api/orders/${moved}`, {
        token: ada,
        body: { status: STATES[(round + 1) % 4], note: 'moved' },
      }),
      ...(gone === undefined ? [] : [server.ask('DELETE', `/api/orders/${gone}`, { token: ada })]),
    ])
    for (const { status } of answers) expect(status).to.be.lessThan(300)
  }

  /** The ids in the order seen, with several writers at work until the reader is done. */
  async function readWhileOthersWrite(read: Reader): Promise<readonly string[]> {
    const seen: string[] = []
    let reading = true
    const writers = [0, 1, 2].map(async (writer) => {
      for (let round = writer; reading; round += 3) await write(round)
    })
    try {
      for (let page = 0; page < (3 * COUNT) / PAGE; page++) {
        const items = await read(page)
        if (!items) break
        seen.push(...items.map(({ id }) => id))
        // So that each page meets other objects than the one before.
        await write(page)
      }
    } finally {
      reading = false
      await Promise.all(writers)
    }
    return seen
  }

  function byCursor(query: string): Reader {
    let path: string | undefined = `/api/orders?limit=${PAGE}&fields=id&${query}`
    return async () => {
      if (path === undefined) return undefined
      const { status, body, headers } = await server.ask('GET', path, { token: ada })
      expect(status).to.equal(200)
      path = /^<([^>]+)>/.exec(headers.get('link') ?? '')?.[1]
      return body.items
    }
  }

  const timesSeen = (seen: readonly string[], expected: ReadonlySet<string>) => {
    const counts = Map.groupBy(seen, (id) => id)
    return new Set([...expected].map((id) => counts.get(id)?.length ?? 0))
  }

  for (const query of soak(
    ['sort=id', 'sort=createdAt', 'sort=-createdAt&customerId=ann'],
    ['sort=-createdAt&customerId=ann'],
  )) {
    it(`shows each object that was there throughout exactly once: ?${query}`, async () => {
      const seen = await readWhileOthersWrite(byCursor(query))
      expect(timesSeen(seen, staying)).to.deep.equal(new Set([1]))
    })
  }

  for (const query of soak(['sort=status', 'sort=-status'], ['sort=status'])) {
    it(`shows each whose value stayed exactly once, sorted by a field that changes: ?${query}`, async () => {
      const seen = await readWhileOthersWrite(byCursor(query))
      expect(timesSeen(seen, staying.difference(moving))).to.deep.equal(new Set([1]))
    })
  }

  it('would skip some by offsets', async () => {
    const { store } = server.app
    const byOffset: Reader = async (page) => {
      // Else as many come as go, all before the page that is next.
      await server.ask('DELETE', `/api/orders/${deletable.pop()}`, { token: ada })
      const found = await store.list('orders', { where: { kind: 'always' }, limit: (page + 1) * PAGE })
      return found.length > page * PAGE ? found.slice(page * PAGE) : undefined
    }
    deletable = (await store.list('orders', { where: { kind: 'always' }, limit: COUNT }))
      .map(({ id }) => id)
      .filter((id) => !staying.has(id))
      .toReversed()
    const seen = await readWhileOthersWrite(byOffset)
    expect(timesSeen(seen, staying)).not.to.deep.equal(new Set([1]))
  })
})
