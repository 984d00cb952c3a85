/** Under any policy the predictor says what authorize, the permits and the handlers answer. */
import { expect } from 'chai'
import fc from 'fast-check'
import type { RouteMethod } from '../../../src/decide/callers-and-routes.ts'
import { casbinPolicy } from '../../../src/decide/casbin/casbin.ts'
import { packPolicy } from '../../../src/decide/rules/rule-table.ts'
import { parsePolicy } from '../../../src/policy/parse/parse-policy.ts'
import type { Method, Operation, Route } from '../../../src/resources/resource.ts'
import type { Objects } from '../../../src/tools/matrix/predict/memory-store.ts'
import { createPredict, evaluatePolicy, type PredictedRequest } from '../../../src/tools/matrix/predict/predict.ts'
import { randomCaller, randomDocument, randomObject } from '../../policy/arbitrary.ts'
import { generousPolicy, randomPolicy } from '../../policy/arbitrary-policy.ts'
import { DOCS, RESOURCES } from '../../policy/fixture.ts'
import { filesOf } from '../../policy/render.ts'
import { drawing, runs } from '../../runs.ts'
import { serve } from './served.ts'

const METHODS: Readonly<Record<Operation, Method>> = {
  list: 'GET',
  read: 'GET',
  create: 'POST',
  replace: 'PUT',
  update: 'PATCH',
  delete: 'DELETE',
  watch: 'GET',
  options: 'OPTIONS',
}

const randomRouteMethod: fc.Arbitrary<RouteMethod> = fc
  .record({
    operation: fc.constantFrom<Operation>('list', 'read', 'create', 'replace', 'update', 'update', 'delete', 'options'),
    own: fc.boolean(),
    peek: fc.boolean(),
  })
  .map(({ operation, own, peek }) => {
    const action = DOCS.actions.get(operation === 'read' && peek ? 'peek' : operation)
    if (!action) throw new Error('the fixture has every action')
    const endpoint = { operation, action: action.name }
    const collection = operation === 'list' || operation === 'create'
    const kind = collection ? 'collection' : own ? 'caller' : 'item'
    const method = METHODS[operation]
    const path = kind === 'item' ? '/docs/{id}' : '/docs'
    const route: Route = { path, resource: 'docs', kind, endpoints: new Map([[method, endpoint]]), allow: '' }
    return { route, method, endpoint, resource: DOCS, action }
  })

const randomCase = fc.record({
  policy: fc.oneof(randomPolicy, generousPolicy),
  conceal: fc.boolean(),
  routeMethod: randomRouteMethod,
  caller: randomCaller,
  objects: fc.uniqueArray(randomObject, { selector: ({ id }) => id, maxLength: 3 }),
  id: fc.constantFrom('o1', 'o1', 'u1', 'nothing'),
  body: randomDocument,
})

/** What a client sees of an answer; ids and times that are made anew don't count. */
function seenIn(value: unknown): unknown {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'object' && 'items' in value && Array.isArray(value.items)) return value.items
  return Object.keys(value).sort()
}

function predict(request: Omit<PredictedRequest, 'facts'>) {
  const { route } = request.routeMethod
  return createPredict({ ...RESOURCES, routes: [route] })({ ...request, facts: { now: 0 } })
}

describe('the predictor', () => {
  it('says what the server answers, under any policy', async () => {
    const seen = new Set<number>()
    await drawing(
      () =>
        fc.assert(
          fc.asyncProperty(randomCase, async ({ policy, conceal, routeMethod, caller, objects, id, body }) => {
            const parsed = parsePolicy(policy.files, RESOURCES)
            const ownership = new Map([...parsed.ownership].map(([name, one]) => [name, { ...one, conceal }]))
            const concealing = { ...parsed, ownership }
            const { roles, claims } = caller
            const known = caller.id === undefined ? undefined : { id: caller.id, roles, claims: claims ?? {} }
            const stored: Objects = new Map([['docs', new Map(objects.map((one) => [String(one.id), one]))]])
            const common = { routeMethod, caller: known, id, body, objects: stored }
            const served = await serve({
              ...common,
              snapshot: casbinPolicy(packPolicy(concealing), RESOURCES),
              resources: RESOURCES,
            })
            const answer = await predict({ ...common, evaluated: evaluatePolicy(concealing, RESOURCES, 0) })
            seen.add(answer.status)
            expect(answer.status).to.equal(served.status)
            const shown = answer.items?.map((item) => item.shown) ?? answer.shown
            expect(seenIn(answer.items ? { items: shown } : shown)).to.deep.equal(seenIn(served.seen))
          }),
          { numRuns: runs(2000) },
        ),
      () => {
        // The cases reach every kind of answer.
        expect([...seen].sort()).to.include.members([200, 201, 204, 401, 403, 404])
      },
    )
  })

  it('would not agree with a server whose policy lacks a rule', async () => {
    const parsed = parsePolicy(filesOf({}), RESOURCES)
    const everyone = { subject: 'everyone', resource: 'docs', actions: ['read'], before: [], views: ['*'], line: 99 }
    const open = { ...parsed, rules: [{ ...everyone, effect: 'allow' as const }] }
    const action = DOCS.actions.get('read')
    if (!action) throw new Error('there is one')
    const endpoint = { operation: 'read', action: 'read' } as const
    const route: Route = {
      path: '/docs/{id}',
      resource: 'docs',
      kind: 'item',
      endpoints: new Map([['GET', endpoint]]),
      allow: '',
    }
    const routeMethod: RouteMethod = { route, method: 'GET', endpoint, resource: DOCS, action }
    const object = { id: 'o1', createdAt: 'x', updatedAt: 'x' }
    const objects: Objects = new Map([['docs', new Map([['o1', object]])]])
    const common = { routeMethod, caller: { id: 'zoe', roles: [], claims: {} }, id: 'o1', body: {}, objects }
    const closed = casbinPolicy(packPolicy({ ...open, rules: [] }), RESOURCES)
    expect((await predict({ ...common, evaluated: evaluatePolicy(open, RESOURCES, 0) })).status).to.equal(200)
    expect((await serve({ ...common, snapshot: closed, resources: RESOURCES })).status).to.equal(403)
  })
})
