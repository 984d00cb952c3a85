/** Random histories: after each commit, whoever follows events holds exactly what its list shows, and was told no more. */
import { expect } from 'chai'
import fc from 'fast-check'
import { ENGINES } from '../data/each-engine.ts'
import type { TestServer } from '../server.ts'
import { until } from '../until.ts'
import { EVENTS_WORLD } from './events-world.ts'
import { FollowingClient, type HeardEvent } from './follow.ts'

const PEOPLE = ['alice', 'bob']
const TEAMS = ['red', 'blue']
const DEPARTMENTS = ['north', 'south']
const STATES = ['new', 'sent', 'lost']

const fields = fc.record(
  {
    ownerId: fc.constantFrom(...PEOPLE, 'carol'),
    department: fc.constantFrom(...DEPARTMENTS),
    state: fc.constantFrom(...STATES),
    teamId: fc.constantFrom(...TEAMS),
    secret: fc.constantFrom('a', 'b'),
  },
  { requiredKeys: [] },
)
const place = fc.nat(7)
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('create' as const), fields }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('patch' as const), at: place, fields }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const), at: place }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('member' as const),
      team: fc.constantFrom(...TEAMS),
      who: fc.constantFrom(...PEOPLE),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('moves' as const),
      who: fc.constantFrom(...PEOPLE),
      department: fc.constantFrom(...DEPARTMENTS),
    }),
  },
)

type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

/** Something appears, changes and goes in every history. */
const BEGINNING: readonly Step[] = [
  { kind: 'create', fields: { ownerId: 'alice', department: 'north', state: 'sent' } },
  { kind: 'patch', at: 0, fields: { ownerId: 'carol', department: 'south', state: 'lost' } },
]

const LENGTHS: Readonly<Record<string, number>> = { SQLite: 24, PostgreSQL: 10 }

for (const [engine, startOn] of ENGINES) {
  describe(`histories of events, on ${engine}`, () => {
    it('leave each follower with what its list shows, after each commit', async () => {
      const on = await startOn({ files: EVENTS_WORLD })
      try {
        const length = LENGTHS[engine] ?? 1
        const steps = fc.array(step, { minLength: length, maxLength: length })
        const world = await World.open(on.server)
        await fc.assert(
          fc.asyncProperty(steps, (history) => world.play([...BEGINNING, ...history])),
          { numRuns: 1, endOnFailure: true },
        )
        world.close()
        // The history would have found a follower that hears nothing, and one that is told of nothing that goes.
        expect(world.wouldBeWrong('deaf'), 'deaf').to.be.greaterThan(0)
        expect(world.wouldBeWrong('keeps'), 'keeps').to.be.greaterThan(0)
      } finally {
        await on.stop()
      }
    })
  })
}

interface Follower {
  readonly client: FollowingClient
  seen: number
  /** What clients would hold that apply no event, or none of what goes. */
  readonly deaf: Map<string, unknown>
  readonly keeps: Map<string, unknown>
}

class World {
  readonly #server: TestServer
  readonly #admin: string
  readonly #followers: readonly Follower[]
  readonly #wrong = { deaf: 0, keeps: 0 }
  readonly #parcels: string[] = []

  static async open(server: TestServer): Promise<World> {
    const people = PEOPLE.map((id, i) => ({
      id,
      document: { email: `${id}@x.test`, displayName: id, department: DEPARTMENTS[i] ?? '', roles: ['member'] },
    }))
    await server.app.seeding.insert('users', people)
    await server.app.seeding.insert(
      'teams',
      TEAMS.map((id) => ({ id, document: { name: id } })),
    )
    const asked = [
      ['alice', 'member', ''],
      ['bob', 'member', ''],
      ['bob', 'member', '?state[in]=sent,lost'],
      ['sue', 'support', ''],
      ['sue', 'support', '?department=north'],
      ['otto', 'auditor', ''],
    ] as const
    const followers: Follower[] = []
    for (const [who, role, query] of asked) {
      const client = await FollowingClient.open(server.url, await server.token(who, role), { query })
      followers.push({ client, seen: 0, deaf: new Map(), keeps: new Map() })
    }
    await until(() => followers.every(({ client }) => client.heard.length > 0))
    return new World(server, await server.token('ada', 'admin'), followers)
  }

  private constructor(server: TestServer, admin: string, followers: readonly Follower[]) {
    this.#server = server
    this.#admin = admin
    this.#followers = followers
  }

  async play(history: readonly Step[]): Promise<void> {
    for (const one of history) {
      await this.#write(one)
      await Promise.all(this.#followers.map((follower) => this.#holdsItsList(follower, one)))
    }
  }

  wouldBeWrong(how: 'deaf' | 'keeps'): number {
    return this.#wrong[how]
  }

  close(): void {
    for (const { client } of this.#followers) client.close()
  }

  async #write(one: Step): Promise<void> {
    switch (one.kind) {
      case 'create':
        this.#parcels.push((await this.#ask('POST', '/parcels', one.fields)).id)
        return
      case 'patch':
      case 'delete': {
        const id = this.#parcels[one.at % Math.max(1, this.#parcels.length)]
        if (id === undefined) return
        if (one.kind === 'patch') return this.#ask('PATCH', `/parcels/${id}`, one.fields)
        this.#parcels.splice(this.#parcels.indexOf(id), 1)
        return this.#ask('DELETE', `/parcels/${id}`)
      }
      case 'member': {
        const { items } = await this.#ask('GET', '/memberships?limit=200')
        const found = items.find(
          (each: { teamId: string; userId: string }) => each.teamId === one.team && each.userId === one.who,
        )
        if (found) return this.#ask('DELETE', `/memberships/${found.id}`)
        return this.#ask('POST', '/memberships', { teamId: one.team, userId: one.who })
      }
      case 'moves':
        return this.#ask('PATCH', `/users/${one.who}`, { department: one.department })
    }
  }

  async #ask(method: string, path: string, body?: unknown) {
    const answer = await this.#server.ask(method, path, { token: this.#admin, ...(body !== undefined && { body }) })
    expect(answer.status, answer.text).to.be.within(200, 204)
    return answer.body
  }

  async #holdsItsList(follower: Follower, after: Step): Promise<void> {
    const { client, deaf, keeps } = follower
    const listed = new Map((await client.heldByList()).map((object) => [object.id, object]))
    const isTold = () => same(client.held, listed)
    const begun = Date.now()
    await until(() => isTold() || Date.now() - begun > 5000)
    await client.applied()
    expect(Object.fromEntries(client.held), JSON.stringify(after)).to.deep.equal(Object.fromEntries(listed))
    for (const event of client.heard.slice(follower.seen)) {
      expectSeen(event, listed)
      if (event.kind === 'reset') {
        for (const map of [deaf, keeps]) {
          map.clear()
          for (const [id, object] of listed) map.set(id, object)
        }
      } else if (event.kind !== 'gone') keeps.set(event.data.id, event.data)
    }
    follower.seen = client.heard.length
    if (!same(deaf, listed)) this.#wrong.deaf += 1
    if (!same(keeps, listed)) this.#wrong.keeps += 1
  }
}

/** Nothing is told that the list doesn't show at that moment. */
function expectSeen({ kind, data }: HeardEvent, listed: ReadonlyMap<string, unknown>): void {
  if (kind === 'gone') expect(listed.has(data.id), `gone ${data.id}`).to.equal(false)
  if (kind === 'appeared' || kind === 'changed') expect(listed.get(data.id)).to.deep.equal(data)
}

function same(one: ReadonlyMap<string, unknown>, other: ReadonlyMap<string, unknown>): boolean {
  const text = (map: ReadonlyMap<string, unknown>) =>
    JSON.stringify([...map].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object))
  return text(one) === text(other)
}
