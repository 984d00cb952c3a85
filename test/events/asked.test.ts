/** Whoever asks who may follow events is answered by the rules, as about any other action. */
import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import type { WhoReport } from '../../src/tools/access/who.ts'
import { sallyport } from '../command.ts'
import { ENGINES, type OnEngine } from '../data/each-engine.ts'
import { withRules } from '../policy-text.ts'
import { EVENTS_WORLD } from './events-world.ts'
import { FollowingClient } from './follow.ts'

const SHIPPED_ROLES = readFileSync(new URL('../../policies/roles.yaml', import.meta.url), 'utf8')

/** Clerks may follow only where they may list, which an attribute that no other rule compares says. */
const CLERKS = 'p, clerk, parcels, read|watch, any, open, allow\np, clerk, parcels, list, noted, open, allow'
const WORLD = {
  ...EVENTS_WORLD,
  'policies/roles.yaml': `${SHIPPED_ROLES}clerk: { description: A clerk. }\n`,
  'policies/ownership.yaml': `${EVENTS_WORLD['policies/ownership.yaml']}    noted: { field: note, equals: subject.bio }\n`,
  'policies/policy.csv': withRules(EVENTS_WORLD['policies/policy.csv'] ?? '', CLERKS),
}

for (const [engine, startOn] of ENGINES) {
  describe(`questions about following events, on ${engine}`, () => {
    let on: OnEngine
    let owned: string
    let other: string
    const people = { mia: ['member'], sue: ['support'], carl: ['clerk'], cleo: ['clerk'], pat: ['pdp-client'] }

    before(async () => {
      on = await startOn({ files: WORLD })
      const admin = await on.server.token('root', 'admin')
      for (const [id, roles] of Object.entries(people)) {
        const bio = id === 'cleo' ? { bio: 'post' } : {}
        const document = { email: `${id}@x.test`, displayName: id, roles, ...bio }
        await on.server.app.seeding.insert('users', [{ id, document }])
      }
      const make = async (ownerId: string) =>
        (await on.server.ask('POST', '/parcels', { token: admin, body: { ownerId } })).body.id as string
      owned = await make('mia')
      other = await make('sue')
    })
    after(() => on.stop())

    const ask = async (path: string, body: unknown) => {
      const answer = await on.server.ask('POST', path, { token: await on.server.token('shop', 'pdp-client'), body })
      expect(answer.status, answer.text).to.equal(200)
      return answer.body
    }

    it('of other services are decided about one object, and found, by the rules about watching', async () => {
      const about = { subject: { type: 'user', id: 'mia' }, context: { fields: ['id'] } }
      const action = { name: 'watch' }
      const decided = await Promise.all(
        [owned, other].map((id) =>
          ask('/access/v1/evaluation', { ...about, action, resource: { type: 'parcels', id } }),
        ),
      )
      expect(decided.map(({ decision }) => decision)).to.deep.equal([true, false])
      const { results } = await ask('/access/v1/search/resource', { ...about, action, resource: { type: 'parcels' } })
      expect(results).to.deep.equal([{ type: 'parcels', id: owned }])
      const found = await ask('/access/v1/search/action', { ...about, resource: { type: 'parcels', id: owned } })
      expect(found.results).to.deep.include(action).and.not.deep.include({ name: 'delete' })
    })

    it('with `access who` name exactly those whose stream opens', async () => {
      const args = ['access', 'who', 'GET', '/parcels/events', '--format', 'json']
      const { stdout, stderr } = await sallyport(args, { env: on.env })
      expect(stdout, stderr).not.to.equal('')
      const named = (JSON.parse(stdout) as WhoReport).who.filter(({ kind }) => kind === 'person')
      const opened = await Promise.all(
        Object.entries(people).map(async ([id, roles]) => {
          const client = await FollowingClient.open(on.server.url, await on.server.token(id, ...roles)).catch(
            () => undefined,
          )
          client?.close()
          return client ? [id] : []
        }),
      )
      expect(opened.flat().sort()).to.deep.equal(['cleo', 'mia', 'sue'])
      expect(named.map(({ subject }) => subject).sort()).to.deep.equal(opened.flat().sort())
    })
  })
}
