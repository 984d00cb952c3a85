/** Events: whoever follows a resource holds what its list shows, at each moment, and nothing else. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { ENGINES, type OnEngine } from '../data/each-engine.ts'
import type { TestServer } from '../server.ts'
import { until } from '../until.ts'
import { EVENTS_WORLD } from './events-world.ts'
import { FollowingClient, type FollowOptions } from './follow.ts'

for (const [engine, startOn] of ENGINES) {
  describe(`events, on ${engine}`, () => {
    let on: OnEngine
    let server: TestServer
    const tokens: Record<string, string> = {}
    const clients: FollowingClient[] = []

    before(async () => {
      on = await startOn({ files: EVENTS_WORLD })
      server = on.server
      for (const [name, role] of [
        ['alice', 'member'],
        ['bob', 'member'],
        ['sue', 'support'],
        ['otto', 'auditor'],
        ['ada', 'admin'],
      ] as const)
        tokens[name] = await server.token(name, role)
    })
    afterEach(() => {
      for (const client of clients.splice(0)) client.close()
    })
    after(() => on.stop())

    const follow = async (who: string, options: FollowOptions = {}) => {
      const client = await FollowingClient.open(server.url, tokens[who], options)
      clients.push(client)
      await until(() => client.heard.length > 0 || options.lastEventId !== undefined)
      return client
    }
    const write = async (method: string, path: string, body?: unknown) => {
      const answer = await server.ask(method, path, { token: tokens.ada, ...(body === undefined ? {} : { body }) })
      expect(answer.status, answer.text).to.be.within(200, 204)
      return answer.body
    }
    const make = async (fields: Record<string, unknown>) => (await write('POST', '/parcels', fields)).id as string
    /** Once everything has been told that was written before. */
    const told = async (client: FollowingClient, count: number) => {
      await until(() => client.heard.length >= count)
      await sleep(150)
      return client.heard.map(({ kind, data }) => [kind, data.id ?? data.reason, data.state])
    }

    it('tell what appears, changes and goes, as a GET shows it, and nothing of what the caller does not see', async () => {
      const [alice, sue, otto] = [await follow('alice'), await follow('sue'), await follow('otto')]
      const id = await make({ ownerId: 'alice', secret: 'never told' })
      const other = await make({ ownerId: 'bob' })
      await write('PATCH', `/parcels/${id}`, { state: 'sent' })
      await write('PATCH', `/parcels/${id}`, { ownerId: 'bob' })
      await write('DELETE', `/parcels/${other}`)
      expect(await told(alice, 4)).to.deep.equal([
        ['reset', 'start', undefined],
        ['appeared', id, 'new'],
        ['changed', id, 'sent'],
        ['gone', id, undefined],
      ])
      expect(await told(sue, 6)).to.deep.equal([
        ['reset', 'start', undefined],
        ['appeared', id, 'new'],
        ['appeared', other, 'new'],
        ['changed', id, 'sent'],
        ['changed', id, 'sent'],
        ['gone', other, undefined],
      ])
      expect(await told(otto, 3)).to.deep.equal([
        ['reset', 'start', undefined],
        ['appeared', id, 'sent'],
        ['changed', id, 'sent'],
      ])
      const shown = await server.ask('GET', `/parcels/${id}`, { token: tokens.sue })
      expect(sue.heard.findLast(({ data }) => data.id === id)?.data).to.deep.equal(shown.body)
      expect(JSON.stringify([alice.heard, sue.heard])).to.not.contain('never told')
      expect(otto.heard[1]?.data.secret).to.equal('never told')
      expect(Object.keys(alice.heard[3]?.data)).to.deep.equal(['id'])
    })

    it('are told of what the caller may see of other objects: a membership that comes or goes begins the list anew', async () => {
      const team = (await write('POST', '/teams', { name: 'red' })).id
      const id = await make({ teamId: team })
      const [bob, alice] = [await follow('bob'), await follow('alice')]
      const membership = (await write('POST', '/memberships', { teamId: team, userId: 'bob' })).id
      await until(() => bob.held.has(id))
      await write('PATCH', `/parcels/${id}`, { state: 'sent' })
      await until(() => (bob.held.get(id) as { state: string }).state === 'sent')
      await write('DELETE', `/memberships/${membership}`)
      await until(() => !bob.held.has(id))
      await write('PATCH', `/parcels/${id}`, { state: 'lost' })
      expect((await told(bob, 4)).map(([kind, one]) => [kind, one])).to.deep.equal([
        ['reset', 'start'],
        ['reset', 'access'],
        ['changed', id],
        ['reset', 'access'],
      ])
      expect(await told(alice, 1)).to.deep.equal([['reset', 'start', undefined]])
    })

    it('take the filters of the list, and no field that the caller can not filter by', async () => {
      const sue = await follow('sue', { query: '?state=sent' })
      const id = await make({ ownerId: 'alice' })
      for (const state of ['sent', 'lost']) await write('PATCH', `/parcels/${id}`, { state })
      expect((await told(sue, 3)).slice(1)).to.deep.equal([
        ['appeared', id, 'sent'],
        ['gone', id, undefined],
      ])
      for (const query of ['?secret=x', '?limit=3', '?sort=state', '?state=nowhere', '?teamId[like]=1', '?can=true'])
        expect((await server.ask('GET', `/parcels/events${query}`, { token: tokens.sue })).body.code, query).to.equal(
          'invalid-query',
        )
    })

    it('go on after the last event that the client has got, whichever instance is asked, and begin anew otherwise', async () => {
      const first = await follow('sue')
      const ids = [await make({ note: 'one' })]
      await told(first, 2)
      first.close()
      for (const note of ['two', 'three']) ids.push(await make({ note }))
      await write('DELETE', `/parcels/${ids[0]}`)
      const lastEventId = first.lastId ?? ''
      const again = await follow('sue', { lastEventId })
      await until(() => again.heard.length >= 3)
      expect(again.heard.map(({ kind, data }) => [kind, data.id])).to.deep.equal([
        ['appeared', ids[1]],
        ['appeared', ids[2]],
        ['gone', ids[0]],
      ])
      await write('PATCH', `/parcels/${ids[1]}`, { note: 'more' })
      await until(() => again.heard.length >= 4)
      // Nobody goes on from a number that it wasn't given: that would show what was before its rights.
      const [number = '', seal = ''] = lastEventId.split('.')
      for (const other of [`${Number(number) - 1}.${seal}`, number, `0.${seal}`, 'x', '', `${lastEventId}x`]) {
        const anew = await follow('sue', { lastEventId: other })
        await until(() => anew.heard.length > 0)
        expect(anew.heard[0], other).to.deep.include({ kind: 'reset', data: { reason: 'missed' } })
      }
      const otto = await follow('otto', { lastEventId })
      await until(() => otto.heard.length > 0)
      expect(otto.heard[0]?.data).to.deep.equal({ reason: 'missed' })
    })

    it('tell those that come again together each event once, while others write', async () => {
      const { lastId = '' } = await follow('sue')
      let isOver = false
      const written = [0, 1].map(async () => {
        while (!isOver) await make({ note: 'often' })
      })
      for (const goal of [20, 40]) {
        const again = await Promise.all(Array.from({ length: 15 }, () => follow('sue', { lastEventId: lastId })))
        for (const client of again) {
          await until(() => client.heard.length > goal)
          const numbers = client.heard.map(({ id }) => Number.parseInt(id, 10))
          expect(numbers).to.deep.equal([...new Set(numbers)].toSorted((a, b) => a - b))
          expect(client.heard.filter(({ kind }) => kind === 'reset')).to.deep.equal([])
          client.close()
        }
      }
      isOver = true
      await Promise.all(written)
    })
  })
}
