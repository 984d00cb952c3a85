import type Router from '@koa/router'
import { expect } from 'chai'
import { makeEndpoints } from '../../src/resources/load/make-routes.ts'
import type { Method, Operation, Route } from '../../src/resources/resource.ts'
import { createRouteMatcher, Routers } from '../../src/resources/routing/match-route.ts'
import { readTarget } from '../../src/resources/routing/request-target.ts'

type Declared = readonly (readonly [Method, Operation])[]

const COLLECTION: Declared = [
  ['GET', 'list'],
  ['POST', 'create'],
]
const ITEM: Declared = [
  ['GET', 'read'],
  ['PUT', 'replace'],
  ['PATCH', 'update'],
  ['DELETE', 'delete'],
]

describe('routers', () => {
  const routes = Array.from({ length: 500 }, (_, i) => [
    routeOf(`/api/v1/things${i}`, COLLECTION),
    routeOf(`/api/v1/things${i}/{id}`, ITEM),
    routeOf(`/api/v1/things${i}/{id}/part`, ITEM),
  ]).flat()

  it('try few routes for a request, however many resources there are', () => {
    const used = new Set<Router>()
    const routers = new Routers(routes, (router, path, { endpoints }) => {
      used.add(router)
      for (const method of endpoints.keys()) router.register(path, [method], () => undefined)
    })
    expect(used, 'before the first request').to.have.property('size', 0)
    for (const { path } of routes) routers.find('GET', readTarget(path.replace('{id}', '7')))
    expect(used).to.have.property('size', 1000)
    expect(Math.max(...[...used].map(({ stack }) => stack.length))).to.be.at.most(12)
  })

  it('find each route by its path, with the id decoded, and keep what differs by a character apart', () => {
    const match = createRouteMatcher(routes)
    const found = (path: string, method = 'GET') => {
      const one = match(method, readTarget(path))
      return 'route' in one ? [one.kind, one.route.path, one.id] : [one.kind]
    }
    expect(found('/api/v1/things7')).to.deep.equal(['route', '/api/v1/things7', undefined])
    expect(found('/api/v1/things499/a%20b')).to.deep.equal(['route', '/api/v1/things499/{id}', 'a b'])
    expect(found('/api/v1/things499/a%2Fb/part')).to.deep.equal(['route', '/api/v1/things499/{id}/part', 'a/b'])
    expect(found('/api/v1/things7/x', 'POST')).to.deep.equal(['unaccepted-method', '/api/v1/things7/{id}', 'x'])
    for (const path of ['/api/v1/things500', '/api/v1/things7/', '/api/v1/Things7', '/api/v1/things7/x/', '/']) {
      expect(found(path)).to.deep.equal(['unknown-path'])
    }
  })

  it('run nothing when they match', () => {
    const routers = new Routers(routes, (router, path) => {
      router.get(path, () => expect.fail('a handler ran'))
    })
    expect(routers.find('GET', readTarget('/api/v1/things7')).match.kind).to.equal('route')
  })
})

function routeOf(path: string, declared: Declared): Route {
  const kind = path.includes('{id}') ? 'item' : 'collection'
  return { path, resource: 'things', kind, ...makeEndpoints(new Map(declared), (operation) => operation) }
}
