/** What the members of a made client are called, by the paths of a document. */
import { expect } from 'chai'
import { groupsOf } from '../../src/tools/client/client-groups.ts'

describe('the names of a client', () => {
  const list = { parameters: [{ name: 'cursor', in: 'query' }] }
  const named = (...paths: readonly (readonly [path: string, tag: string, more?: object])[]) => {
    const operations = paths.map(([path, tag, more]) => [path, { get: { tags: [tag], responses: {}, ...more } }])
    const { groups, leftOut } = groupsOf({ paths: Object.fromEntries(operations) })
    const shown = [...groups].map(([name, { routes, parts }]) => [
      name,
      routes.map(({ path, kind }) => `${kind} ${path}`),
      [...parts].map(([part, { path, kind }]) => `${part}: ${kind} ${path}`),
    ])
    return { shown, leftOut }
  }

  it('are those of the resources, for the path that has no end and the most', () => {
    const old = { deprecated: true }
    const { shown, leftOut } = named(
      ['/api/v1/order-items', 'order-items', { ...list, ...old }],
      ['/api/v1/order-items/{id}', 'order-items', old],
      ['/order-items/{id}', 'order-items'],
      ['/api/v2/order-items', 'order-items', list],
      ['/api/v2/order-items/{id}', 'order-items'],
    )
    expect(shown).to.deep.equal([
      ['orderItems', ['list /api/v2/order-items', 'object /api/v2/order-items/{id}'], []],
      ['apiV1OrderItems', ['list /api/v1/order-items', 'object /api/v1/order-items/{id}'], []],
    ])
    expect(leftOut).to.deep.equal(['/order-items/{id}'])
  })

  it('of events are those of the path before, and of a history that of its object', () => {
    const streamed = { responses: { '200': { content: { 'text/event-stream': { schema: {} } } } } }
    const past = { parameters: ['limit', 'cursor', 'at'].map((name) => ({ name, in: 'query' })) }
    const counted = { parameters: ['cursor', 'count', 'at'].map((name) => ({ name, in: 'query' })) }
    const { shown, leftOut } = named(
      ['/api/orders', 'orders', list],
      ['/api/orders/{id}', 'orders'],
      ['/api/orders/events', 'orders', streamed],
      ['/api/orders/{id}/history', 'orders', past],
      ['/api/orders/list', 'orders', streamed],
      ['/order-events', 'orders', streamed],
      ['/projects/{projectId}/visits', 'visits', counted],
    )
    expect(shown).to.deep.equal([
      [
        'orders',
        ['list /api/orders', 'object /api/orders/{id}'],
        ['events: events /api/orders/events', 'history: history /api/orders/{id}/history'],
      ],
      ['root', [], ['orderEvents: events /order-events']],
      ['projects', [], ['visits: list /projects/{projectId}/visits']],
    ])
    expect(leftOut).to.deep.equal(['/api/orders/list'])
  })

  it('lead from a parent to its collection, and from an object to its parts, also where nothing else is there', () => {
    const { shown, leftOut } = named(
      ['/projects/{id}', 'projects'],
      ['/projects/{projectId}/tasks', 'tasks', list],
      ['/projects/{id}/list', 'projects'],
      ['/old/{projectId}/tasks', 'tasks', list],
      ['/{projectId}/tasks', 'tasks', list],
      ['/me', 'people'],
    )
    expect(shown).to.deep.equal([
      ['projects', ['object /projects/{id}'], ['tasks: list /projects/{projectId}/tasks']],
      ['people', ['single /me'], []],
      ['old', [], ['tasks: list /old/{projectId}/tasks']],
      ['root', [], ['tasks: list /{projectId}/tasks']],
    ])
    expect(leftOut).to.deep.equal(['/projects/{id}/list'])
  })
})
