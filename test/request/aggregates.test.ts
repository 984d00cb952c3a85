/** `?aggregate=…&by=…`: what a list tells of all its objects together is what its pages tell one by one. */
import { expect } from 'chai'
import fc from 'fast-check'
import { ENGINES, type OnEngine } from '../data/each-engine.ts'
import { withRules } from '../policy-text.ts'
import { runs } from '../runs.ts'
import type { TestServer } from '../server.ts'
import { REFERRING } from './referring-world.ts'

const NUMBER = { type: 'number', 'x-index': true }

const FILES = {
  ...REFERRING,
  'schemas/sales.json': JSON.stringify({
    type: 'object',
    'x-resource': {
      routes: [
        { path: '/sales', methods: ['GET', 'POST'] },
        { path: '/short-sales', methods: ['GET'], view: 'short' },
        { path: '/sales/{id}', methods: ['GET', 'PATCH', 'DELETE'] },
        { path: '/projects/{projectId}/sales', methods: ['GET'] },
      ],
    },
    properties: {
      id: { type: 'string', readOnly: true },
      createdAt: { type: 'string', format: 'date-time', readOnly: true, 'x-index': true },
      updatedAt: { type: 'string', readOnly: true },
      ownerId: { type: 'string', 'x-index': true },
      projectId: { type: 'string', 'x-reference': { resource: 'projects' } },
      state: { type: 'string', 'x-index': true },
      paid: { type: 'boolean', 'x-index': true },
      level: { type: 'integer', 'x-index': true },
      total: NUMBER,
      secret: NUMBER,
      plain: { type: 'number' },
    },
    additionalProperties: false,
  }),
  // Has filters of the names of the parameters.
  'schemas/marks.json': JSON.stringify({
    type: 'object',
    'x-resource': { routes: [{ path: '/marks', methods: ['GET'] }] },
    properties: {
      id: { type: 'string', readOnly: true },
      createdAt: { type: 'string', readOnly: true },
      updatedAt: { type: 'string', readOnly: true },
      by: { type: 'string', 'x-index': true },
    },
    additionalProperties: false,
  }),
  'policies/ownership.yaml': `${REFERRING['policies/ownership.yaml']}sales: { relations: { owner: ownerId } }\n`,
  'policies/views.yaml': `${REFERRING['policies/views.yaml']}sales: { open: [id, createdAt, ownerId, state, paid, level, total], short: [id, state] }\n`,
  'policies/policy.csv': withRules(
    REFERRING['policies/policy.csv'],
    [
      'p, admin, sales, list|read|create, any, *, allow',
      'p, admin, marks, list, any, *, allow',
      'p, member, sales, list, owner, *, allow',
      // Sees `secret` of own objects alone.
      'p, support, sales, list, any, open, allow',
      'p, support, sales, list, owner, *, allow',
    ].join('\n'),
  ),
}

type Row = Readonly<Record<string, unknown>>
const FIELDS = ['state', 'paid', 'level', 'ownerId', 'total', 'createdAt', 'id'] as const

for (const [engine, startOn] of ENGINES) {
  describe(`aggregates of a list, on ${engine}`, () => {
    let on: OnEngine
    let server: TestServer
    let tokens: OnEngine['tokens']
    let worlds = 0

    before(async () => {
      on = await startOn({ files: FILES })
      ;({ server, tokens } = on)
    })
    after(() => on.stop())

    const get = (who: string, path: string) => server.ask('GET', path, { token: tokens[who] })

    /** Objects of earlier worlds have another state of their own: each list is filtered by `level`, or by owner. */
    async function place(documents: readonly Row[]): Promise<void> {
      worlds += 1
      await on.run('delete from "objects_sales"')
      await server.app.seeding.insert(
        'sales',
        documents.map((document, n) => ({ id: `${worlds}-${n}`, document: document as never })),
      )
    }

    async function pages(who: string, path: string): Promise<readonly Row[]> {
      const rows: Row[] = []
      for (let next: string | null = ''; next !== null; ) {
        const { status, body } = await get(who, `${path}limit=50${next && `&cursor=${encodeURIComponent(next)}`}`)
        expect(status).to.equal(200)
        rows.push(...body.items)
        next = body.next
      }
      return rows
    }

    /** In thousandths: the numbers of these tests have at most three digits behind the point. */
    const thousandths = (value: unknown) => BigInt(Math.round(Number(value) * 1000))

    function byHand(rows: readonly Row[], by: readonly string[]): readonly unknown[] {
      const groups = Map.groupBy(rows, (row) => JSON.stringify(by.map((name) => row[name] ?? null)))
      if (by.length === 0 && groups.size === 0) groups.set('[]', [])
      return [...groups].map(([key, some]) => {
        const values = JSON.parse(key) as unknown[]
        const numbers = some.map(({ total }) => total).filter((total) => typeof total === 'number')
        const sum = numbers.reduce((all, one) => all + thousandths(one), 0n)
        return {
          ...(by.length > 0 && { by: Object.fromEntries(by.map((name, at) => [name, values[at]])) }),
          count: some.length,
          'sum(total)': Number(sum) / 1000,
          'min(total)': numbers.length === 0 ? null : Math.min(...numbers),
          'max(total)': numbers.length === 0 ? null : Math.max(...numbers),
          'avg(total)': numbers.length === 0 ? null : Number(sum) / 1000 / numbers.length,
        }
      })
    }

    const ALL = 'count,sum(total),min(total),max(total),avg(total)'

    it('are what the whole list of the same caller adds up to, whatever it is filtered and grouped by', async () => {
      let grouped = 0
      const total = fc.option(
        fc.integer({ min: -1e9, max: 1e9 }).map((one) => one / 1000),
        { nil: undefined },
      )
      const document = fc.record(
        {
          ownerId: fc.constantFrom('alice', 'bob', 'sue'),
          state: fc.constantFrom('open', 'Open', 'é', ''),
          paid: fc.boolean(),
          level: fc.integer({ min: -1, max: 2 }),
          total,
          secret: total,
        },
        { requiredKeys: ['ownerId'] },
      )
      const property = fc.asyncProperty(
        fc.array(document, { maxLength: 12 }),
        fc.subarray([...FIELDS], { maxLength: 3 }),
        fc.constantFrom('', 'state=open&', 'level[gte]=0&', 'total[lt]=0&paid=true&'),
        async (documents, by, filter) => {
          await place(documents)
          for (const who of ['alice', 'sue', 'ada']) {
            const asked = `aggregate=${ALL}${by.length > 0 ? `&by=${by.join()}` : ''}`
            const { status, body } = await get(who, `/sales?${filter}${asked}`)
            expect([status, body.items, body.next]).to.deep.equal([200, [], null])
            const expected = byHand(await pages(who, `/sales?${filter}`), by)
            const near = (groups: readonly Row[]) =>
              groups.map((one) => ({ ...one, 'avg(total)': Number(Number(one['avg(total)']).toPrecision(12)) }))
            expect(near(body.groups)).to.have.deep.members(near(expected as readonly Row[]))
            grouped += body.groups.length
          }
        },
      )
      await fc.assert(property, { numRuns: runs(120, 12), endOnFailure: true })
      expect(grouped).to.be.greaterThan(0)
    })

    it('would differ if objects of others counted', async () => {
      await place([
        { ownerId: 'alice', total: 1 },
        { ownerId: 'bob', total: 2 },
      ])
      const sums = async (who: string) => (await get(who, '/sales?aggregate=sum(total)')).body.groups
      expect([await sums('alice'), await sums('ada')]).to.deep.equal([[{ 'sum(total)': 1 }], [{ 'sum(total)': 3 }]])
    })

    it('take no field that some row hides, as filters do, in the words for a field that is not there', async () => {
      await place([
        { ownerId: 'bob', secret: 7, total: 1 },
        { ownerId: 'sue', secret: 8, total: 1 },
      ])
      for (const [hidden, missing] of [
        ['aggregate=sum(secret)', 'aggregate=sum(nothing)'],
        ['aggregate=count&by=secret', 'aggregate=count&by=nothing'],
        ['aggregate=count&secret[gt]=1', 'aggregate=count&nothing[gt]=1'],
        // Without an index, as filters too.
        ['aggregate=max(plain)', 'aggregate=max(nothing)'],
      ]) {
        const [one, other] = [await get('sue', `/sales?${hidden}`), await get('sue', `/sales?${missing}`)]
        expect([one?.status, one?.body.code]).to.deep.equal([400, 'invalid-query'])
        expect(one?.body.detail.replaceAll('secret', 'nothing')).to.equal(other?.body.detail)
        expect(one?.body.detail).to.not.match(/secret.*secret|7|8/)
      }
      // Negative control: who sees it on every row gets it.
      expect((await get('ada', '/sales?aggregate=sum(secret)')).body.groups).to.deep.equal([{ 'sum(secret)': 15 }])
      const refused = await server.lastDecision({ problem: 'invalid-query', subject: 'sue', route: '/sales' })
      expect(refused).to.deep.include({ status: 400 })
    })

    it('take only the fields of the view, where the route has one', async () => {
      await place([{ ownerId: 'bob', state: 'open', total: 1 }])
      expect((await get('ada', '/short-sales?aggregate=count&by=state')).body.groups).to.deep.equal([
        { by: { state: 'open' }, count: 1 },
      ])
      expect((await get('ada', '/short-sales?aggregate=sum(total)')).status).to.equal(400)
    })

    it('are exact: decimals as they are written, and a text where a double would round', async () => {
      const sum = async (...totals: number[]) => {
        await place(totals.map((total) => ({ ownerId: 'ada', total })))
        return (await get('ada', `/sales?aggregate=${ALL.slice(6)}`)).body.groups[0]
      }
      expect(await sum(0.1, 0.2)).to.deep.equal({
        'sum(total)': 0.3,
        'min(total)': 0.1,
        'max(total)': 0.2,
        'avg(total)': 0.15,
      })
      expect((await sum(2 ** 53, 1))['sum(total)']).to.equal('9007199254740993')
      expect((await sum(2 ** 53, 1, 1))['sum(total)']).to.equal(9007199254740994)
      expect((await sum(2 ** 60, 0.5))['sum(total)']).to.equal('1152921504606847000.5')
      expect((await sum(1e300, 1, -1e300))['sum(total)']).to.equal(1)
      expect((await sum(1.7e308, 1.7e308))['sum(total)'])
        .to.match(/^34(0+)$/)
        .and.have.length(309)
      expect(await sum(5e-324, -5e-324, 1e21, -12.5)).to.include({ 'min(total)': -12.5, 'max(total)': 1e21 })
      expect((await sum(1, 1, 0))['avg(total)']).to.equal(2 / 3)
      expect(await sum()).to.deep.equal({
        'sum(total)': 0,
        'min(total)': null,
        'max(total)': null,
        'avg(total)': null,
      })
    })

    it('count values of another type than the field has as missing, whatever stands beside them', async () => {
      const odd = ['\\', '\\\\u0000', 'a\u0000b', '\u0001\ud83d\ude00"', '{"total":9}']
      await place([
        ...odd.map((projectId, n) => ({
          ownerId: 'ada',
          projectId: `${projectId}\ud800`,
          total: n + 0.5,
          state: projectId,
        })),
        { ownerId: 'ada', total: '7', state: 8, paid: 'true', level: true },
        { ownerId: 'ada', total: null, state: null, paid: 1 },
      ])
      const { body } = await get('ada', '/sales?aggregate=count,sum(total)&by=state')
      expect(body.groups.map(({ by }: { by: Row }) => by.state)).to.have.members([null, ...odd])
      expect(body.groups.find(({ by }: { by: Row }) => by.state === null)).to.deep.include({
        count: 2,
        'sum(total)': 0,
      })
      const all = await get('ada', '/sales?aggregate=count,sum(total)')
      expect(all.body.groups).to.deep.equal([{ count: 7, 'sum(total)': 12.5 }])
      for (const by of ['paid', 'level']) {
        const groups = (await get('ada', `/sales?aggregate=count&by=${by}`)).body.groups
        expect(groups).to.deep.equal([{ by: { [by]: null }, count: 7 }])
      }
    })

    it('hold of one parent what its list holds', async () => {
      await server.app.seeding.insert(
        'projects',
        ['p', 'q'].map((id) => ({ id, document: { ownerId: 'alice' } })),
      )
      await place(['p', 'p', 'q'].map((projectId, n) => ({ ownerId: 'alice', projectId, total: n })))
      const { body } = await get('alice', '/projects/p/sales?aggregate=count,sum(total)')
      expect(body.groups).to.deep.equal([{ count: 2, 'sum(total)': 1 }])
      expect((await get('bob', '/projects/p/sales?aggregate=count')).status).to.equal(404)
    })

    it('have at most 1,000 groups, whose texts have at most 350 bytes', async () => {
      const of = (count: number) => Array.from({ length: count }, (_, level) => ({ ownerId: 'ada', level }))
      await place(of(1000))
      const most = await get('ada', '/sales?aggregate=count&by=level')
      expect(most.body.groups.map(({ by }: { by: Row }) => by.level)).to.deep.equal(of(1000).map(({ level }) => level))
      await place(of(1001))
      const more = await get('ada', '/sales?aggregate=count&by=level')
      expect([more.status, more.body.code]).to.deep.equal([400, 'invalid-query'])
      expect(more.body.detail).to.match(/more than 1000 groups/)
      await place([{ ownerId: 'ada', state: 'é'.repeat(175) }])
      expect((await get('ada', '/sales?aggregate=count&by=state')).status).to.equal(200)
      await place([{ ownerId: 'ada', state: '\u0001'.repeat(350) }])
      expect((await get('ada', '/sales?aggregate=count&by=state')).status).to.equal(200)
      await place([{ ownerId: 'ada', state: `${'é'.repeat(175)}x` }])
      const long = await get('ada', '/sales?aggregate=count&by=state')
      expect([long.status, long.body.detail]).to.deep.equal([
        400,
        'The fields of the query parameter by have texts of more than 350 bytes; group by less.',
      ])
    })

    it('refuse what they can not do, and say what they can', async () => {
      const names = ['count', 'sum(total)', 'min(total)', 'max(total)', 'avg(total)', 'sum(level)', 'min(level)']
      const most = [...names, 'max(level)', 'avg(level)', 'sum(secret)']
      expect((await get('ada', `/sales?aggregate=${most}`)).status).to.equal(200)
      for (const [query, words] of [
        ['by=state', /by needs aggregate/],
        ['aggregate=', /list some of these/],
        [
          'aggregate=total',
          /count, sum\(…\), min\(…\), max\(…\), avg\(…\); in brackets, one of: level, total, secret\./,
        ],
        ['aggregate=sum(state)', /in brackets, one of/],
        ['aggregate=median(total)', /in brackets, one of/],
        ['aggregate=count,count', /names something twice/],
        [`aggregate=${[...most, 'min(secret)']}`, /at most 10/],
        ['aggregate=count&by=state,state', /names something twice/],
        ['aggregate=count&by=state,paid,level,ownerId', /at most 3/],
        ['aggregate=count&by=', /by is not valid/],
        ['aggregate=count&sort=id', /sort can't stand beside aggregate/],
        ['aggregate=count&limit=5', /limit can't stand/],
        ['aggregate=count&fields=id', /fields can't stand/],
        ['aggregate=count&can=true', /can can't stand/],
        ['aggregate=count&count=exact', /count can't stand/],
        ['aggregate=count&expand=projectId', /expand can't stand/],
        ['aggregate=count&aggregate=count', /repeated/],
      ] as const) {
        const { status, body } = await get('ada', `/sales?${query}`)
        expect([status, body.code], query).to.deep.equal([400, 'invalid-query'])
        expect(body.detail, query).to.match(words)
      }
    })

    it('are not there where a filter has the name of a parameter', async () => {
      await server.app.seeding.insert('marks', [{ id: `m${engine}`, document: { by: 'count' } }])
      expect((await get('ada', '/marks?by=count')).body.items).to.have.length(1)
      expect((await get('ada', '/marks?by=state')).body.items).to.have.length(0)
      const { status, body } = await get('ada', '/marks?aggregate=count')
      expect([status, body.detail]).to.deep.equal([
        400,
        'This route has no query parameter aggregate; use some of: limit, sort, fields, count, cursor, can, id, by.',
      ])
    })

    if (engine === 'PostgreSQL') {
      it('of a damaged document are a fault, which shows nothing of it', async () => {
        await place([{ ownerId: 'ada', total: 1 }])
        await on.run(`update "objects_sales" set document = '{"total":1,"state":"wax'`)
        const answer = await get('ada', '/sales?aggregate=sum(total)')
        expect([answer.status, answer.body.code]).to.deep.equal([500, 'internal-error'])
        expect(JSON.stringify(server.log)).to.contain('a document of `sales` is damaged').and.not.contain('wax')
        await place([])
      })
    }

    it('leave a record with what was asked, and of which fields', async () => {
      await place([])
      await get('ada', '/sales?aggregate=count,max(level)&by=paid&state=open')
      const found = await server.lastDecision({ subject: 'ada', route: '/sales', status: 200 })
      expect(found?.aggregate).to.deep.equal(['count', 'max(level)'])
      expect(found?.facts).to.deep.include({ queried: ['state', 'level', 'paid'] })
    })
  })
}
