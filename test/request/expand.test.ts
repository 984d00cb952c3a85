/** `?expand`: what an answer shows of other objects is what a GET of each would show. */
import { expect } from 'chai'
import fc from 'fast-check'
import { ENGINES, type OnEngine } from '../data/each-engine.ts'
import { runs } from '../runs.ts'
import type { TestServer } from '../server.ts'
import { REFERRING } from './referring-world.ts'

const PEOPLE = ['alice', 'bob', 'carol'] as const
const PATHS = [
  'projectId',
  'parentId',
  'seenWith',
  'parentId.projectId',
  'parentId.parentId.seenWith',
  'seenWith.parentId',
]
const IDS = [0, 1, 2, 3].map(String)

interface World {
  readonly projects: readonly string[]
  readonly tasks: readonly (readonly [string, Readonly<Record<string, string | null>>])[]
}

const anyId = fc.constantFrom(...IDS, 'missing', 'a\u0007')
const anyWorld: fc.Arbitrary<World> = fc.record({
  projects: fc.array(fc.constantFrom(...PEOPLE), { minLength: 4, maxLength: 4 }),
  tasks: fc.array(
    fc.tuple(
      fc.constantFrom(...PEOPLE),
      fc.record(
        { projectId: anyId, parentId: fc.option(anyId), seenWith: anyId },
        { requiredKeys: [] },
      ) as fc.Arbitrary<Readonly<Record<string, string | null>>>,
    ),
    { minLength: 4, maxLength: 4 },
  ),
})

for (const [engine, startOn] of ENGINES) {
  describe(`expand, on ${engine}`, () => {
    let on: OnEngine
    let server: TestServer
    let worlds = 0
    let round = ''
    /** Later worlds come first in a list that is sorted by `-id`. */
    const nextRound = () => {
      worlds += 1
      round = String(worlds).padStart(6, '0')
    }
    let tokens: OnEngine['tokens']

    before(async () => {
      on = await startOn({ files: REFERRING, demo: true })
      ;({ server, tokens } = on)
    })
    after(() => on.stop())

    const get = (who: string, path: string, headers: Record<string, string> = {}) =>
      server.ask('GET', path, { token: tokens[who], headers })

    /** The same names of objects in each world, apart. */
    async function place({ projects, tasks }: World): Promise<(id: string) => string> {
      nextRound()
      const idOf = (id: string) => `${round}-${id}`
      const named = (document: Readonly<Record<string, string | null>>) =>
        Object.fromEntries(Object.entries(document).map(([name, id]) => [name, id && idOf(id)]))
      await server.app.seeding.insert(
        'projects',
        projects.map((ownerId, n) => ({ id: idOf(`${n}`), document: { ownerId } })),
      )
      await server.app.seeding.insert(
        'tasks',
        tasks.map(([ownerId, document], n) => ({ id: idOf(`${n}`), document: { ownerId, ...named(document) } })),
      )
      return idOf
    }

    /** As a client without `expand` would find it. */
    async function byHand(who: string, task: Readonly<Record<string, unknown>>, path: string): Promise<unknown> {
      let found: Readonly<Record<string, unknown>> | undefined = task
      for (const name of path.split('.')) {
        const id = found?.[name]
        if (typeof id !== 'string') return undefined
        const { status, body } = await get(
          who,
          `/${name === 'projectId' ? 'projects' : 'tasks'}/${encodeURIComponent(id)}`,
        )
        found = status === 200 ? body : undefined
      }
      return found
    }

    it('shows of each path what the separate GETs show, of an item and in each row of a list', async () => {
      const counts = { shown: 0, absent: 0 }
      async function compare(who: string, id: string, paths: readonly string[]): Promise<void> {
        const asked = `expand=${paths.join(',')}`
        const [plain, whole, list] = [
          await get(who, `/tasks/${id}`),
          await get(who, `/tasks/${id}?${asked}`),
          await get(who, `/tasks?limit=8&sort=-id&${asked}`),
        ]
        expect(whole.status).to.equal(plain.status)
        if (whole.status !== 200) return
        const { expanded, ...rest } = whole.body
        expect(rest).to.deep.equal(plain.body)
        expect(list.body.items.find((row: { readonly id: string }) => row.id === id)).to.deep.equal(whole.body)
        for (const path of paths) {
          const found = await byHand(who, plain.body, path)
          expect(expanded[path], path).to.deep.equal(found)
          counts[found ? 'shown' : 'absent'] += 1
        }
      }
      const [anyCaller, anyPaths] = [fc.constantFrom(...PEOPLE, 'ada'), fc.subarray(PATHS, { minLength: 1 })]
      const property = fc.asyncProperty(anyWorld, anyCaller, anyPaths, async (world, who, paths) => {
        const idOf = await place(world)
        for (const n of IDS) await compare(who, idOf(n), paths)
      })
      await fc.assert(property, { numRuns: runs(60, 8), endOnFailure: true })
      // Otherwise the comparison would have said nothing.
      expect(Math.min(counts.shown, counts.absent)).to.be.greaterThan(0)
    })

    it('would differ if what can not be read were shown', async () => {
      const idOf = await place({
        projects: ['bob', 'bob', 'bob', 'bob'],
        tasks: [
          ['alice', { projectId: '0' }],
          ['bob', {}],
        ],
      })
      const hidden = await get('alice', `/tasks/${idOf('0')}?expand=projectId`)
      expect(hidden.body.expanded).to.deep.equal({})
      const whole = await get('ada', `/tasks/${idOf('0')}?expand=projectId`)
      expect(whole.body.expanded.projectId).to.include({ id: idOf('0'), ownerId: 'bob' })
    })

    it('refuses a path that leads over no reference, also over one that the caller can not see, in the same words', async () => {
      const idOf = await place({ projects: [], tasks: [['alice', {}]] })
      for (const [who, path, words] of [
        ['alice', 'ownerId', /can name projectId, parentId, seenWith/],
        ['alice', 'parentId.ownerId', /can name parentId.projectId, parentId.parentId/],
        ['alice', 'projectId.ownerId', /names a field that refers to nothing/],
        ['alice', 'parentId.parentId.parentId.parentId', /at most 3 fields/],
        ['alice', 'parentId,parentId', /repeats/],
        ['alice', '', /can name/],
        ['sue', 'projectId', /names a field that refers to nothing/],
        ['sue', 'nothing', /names a field that refers to nothing/],
      ] as const) {
        for (const target of [`/tasks/${idOf('0')}`, '/tasks'].slice(0, who === 'sue' ? 1 : 2)) {
          const { status, body } = await get(who, `${target}?expand=${path}`)
          expect([status, body.code], `${who} ${target} ${path}`).to.deep.equal([400, 'invalid-query'])
          expect(body.detail).to.match(words)
        }
      }
      // A resource without references takes no such parameter.
      expect((await get('alice', '/projects?expand=ownerId')).body.detail).to.match(/no query parameter expand/)
    })

    it('refuses a path over a field that `fields` leaves out', async () => {
      const idOf = await place({ projects: ['alice'], tasks: [['alice', { projectId: '0' }]] })
      const list = (fields: string) => get('alice', `/tasks?limit=1&sort=-id&fields=${fields}&expand=projectId`)
      const shown = await list('projectId')
      expect(shown.body.items[0].expanded.projectId.id).to.equal(idOf('0'))
      const { status, body } = await list('id,parentId')
      expect([status, body.code]).to.deep.equal([400, 'invalid-query'])
      expect(body.detail).to.match(/can name parentId\./)
    })

    it('shows nothing that no GET shows: of a resource without one, or by a path that has ended', async () => {
      nextRound()
      const id = `${round}-one`
      const secret = { ownerId: 'alice', secret: 'wax' }
      for (const name of ['stamps', 'seals']) await server.app.seeding.insert(name, [{ id, document: secret }])
      const document = { ownerId: 'alice', stampId: id, sealId: id }
      await server.app.seeding.insert('contracts', [{ id, document }])
      expect((await get('alice', `/v0/seals/${id}`)).status).to.equal(410)
      const whole = await get('alice', `/contracts/${id}?expand=stampId,sealId`)
      expect(whole.body.expanded).to.deep.equal({ sealId: (await get('alice', `/seals/${id}`)).body })
      expect(whole.text).not.to.contain('wax')
    })

    it('shows at most 200 objects, however many rows name them', async () => {
      nextRound()
      const ids = Array.from({ length: 101 }, (_, n) => `${round}-many-${n}`)
      await server.app.seeding.insert(
        'projects',
        ids.map((id) => ({ id, document: { ownerId: 'carol' } })),
      )
      await server.app.seeding.insert(
        'tasks',
        ids.map((id) => ({ id, document: { ownerId: 'carol', projectId: id, parentId: id } })),
      )
      const page = (limit: number) => get('carol', `/tasks?limit=${limit}&sort=-id&expand=projectId,parentId`)
      const most = await page(100)
      expect([most.status, most.body.items.length]).to.deep.equal([200, 100])
      const { status, body } = await page(101)
      expect([status, body.code]).to.deep.equal([400, 'invalid-query'])
      expect(body.detail).to.match(/more than 200 objects/)
      expect(await server.lastDecision({ status: 400, route: '/tasks' })).not.to.have.property('expanded')
    })

    it('writes no more of what it shows than an answer may have, however many rows name one large object', async () => {
      nextRound()
      const ids = Array.from({ length: 100 }, (_, n) => `${round}-${n}`)
      await server.app.seeding.insert('projects', [{ id: round, document: { ownerId: 'x'.repeat(200_000) } }])
      await server.app.seeding.insert(
        'tasks',
        ids.map((id) => ({ id, document: { ownerId: 'ada', projectId: round } })),
      )
      const { stringify } = JSON
      let [written, answerBytes] = [0, 0]
      JSON.stringify = ((...asked: Parameters<typeof stringify>) => {
        const text = stringify(...asked)
        written += text?.length ?? 0
        return text
      }) as typeof stringify
      try {
        const { status, body } = await get('ada', '/tasks?limit=100&sort=-id&expand=projectId')
        expect([status, body.code]).to.deep.equal([400, 'invalid-query'])
        answerBytes = Number(/more than (\d+) bytes/.exec(body.detail)?.[1])
      } finally {
        JSON.stringify = stringify
      }
      expect(written).to.be.within(answerBytes, answerBytes + 1_000_000)
    })

    it('gives another entity tag when what it shows changes, and records what it has shown', async () => {
      const idOf = await place({ projects: ['alice'], tasks: [['alice', { projectId: '0' }]] })
      const path = `/tasks/${idOf('0')}?expand=projectId`
      const first = await get('alice', path)
      const tag = first.headers.get('etag') ?? ''
      expect((await get('alice', path, { 'if-none-match': tag })).status).to.equal(304)
      const own = { token: tokens.ada, body: { ownerId: 'bob' } }
      expect((await server.ask('PATCH', `/projects/${idOf('0')}`, own)).status).to.equal(200)
      const second = await get('alice', path, { 'if-none-match': tag })
      expect([second.status, second.body.expanded]).to.deep.equal([200, {}])
      const seen = await server.lastDecision({ method: 'GET', objectId: idOf('0'), status: 304 })
      expect(seen?.expanded).to.deep.equal([{ resource: 'projects', objectId: idOf('0') }])
    })

    it('stands beside `can`, in a page and on the next one', async () => {
      const idOf = await place({
        projects: ['bob'],
        tasks: [
          ['bob', { projectId: '0' }],
          ['bob', { projectId: '0' }],
        ],
      })
      const first = await get('bob', '/tasks?limit=1&sort=-id&can=true&expand=projectId')
      const next = await get('bob', first.headers.get('link')?.replace(/^<(.*)>.*$/, '$1') ?? '')
      for (const { body } of [first, next]) {
        expect(body.items[0]).to.include.keys('can', 'expanded')
        expect(body.items[0].expanded.projectId.id).to.equal(idOf('0'))
      }
    })
  })
}
