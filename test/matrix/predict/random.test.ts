/** Under any policy of the language the predictor says what a real server answers, on the same objects. */
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import { type RouteMethod, routeMethodsOf } from '../../../src/decide/callers-and-routes.ts'
import type { Policy } from '../../../src/decide/policy.ts'
import { parsePolicy } from '../../../src/policy/parse/parse-policy.ts'
import { represent } from '../../../src/resources/object.ts'
import type { Representation, Resources } from '../../../src/resources/resource.ts'
import { createPredict, evaluatePolicy } from '../../../src/tools/matrix/predict/predict.ts'
import { type Asked, askedAbout } from '../../policy/arbitrary-language.ts'
import { STORED } from '../../policy/language-fixture.ts'
import { filesOfWorld } from '../../policy/language-product.ts'
import type { World } from '../../policy/world.ts'
import { callerOf, type ServedWorld, serveWorld } from '../../request/served-world.ts'
import { drawing, runs } from '../../runs.ts'

const WRITING: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

/** What differs between two servers: which id a new object gets, and when it is written. */
const OF_THE_SERVER: readonly string[] = ['id', 'createdAt', 'updatedAt']

/** What a client sees: rows, or the fields of an object, without what the server itself fills in. */
function seenIn(shown: Readonly<Record<string, unknown>> | undefined): unknown {
  return shown && Object.entries(shown).map(([name, value]) => (OF_THE_SERVER.includes(name) ? name : [name, value]))
}

interface Sent {
  readonly routeMethod: RouteMethod
  readonly id: string | undefined
  readonly body: Asked['request']['body']
}

/** Reads of the asked resource, of each object and of none, and then the request: a write leaves other objects. */
function requestsOf(resources: Resources, { world, request }: Asked): readonly Sent[] {
  const { name } = world.resource
  const methods = routeMethodsOf(resources).filter((one) => one.resource.name === name)
  const known = (world.objects?.get(name) ?? []).map(({ id }) => String(id))
  const about = (routeMethod: RouteMethod, ids: readonly string[], body: Sent['body']) =>
    routeMethod.route.kind === 'item'
      ? ids.map((id): Sent => ({ routeMethod, id, body }))
      : [{ routeMethod, id: undefined, body }]
  const reads = methods.filter(({ method }) => method === 'GET')
  const writes = methods.filter(({ method, endpoint }) => WRITING.has(method) && endpoint.action === request.action)
  return [
    ...reads.flatMap((one) => about(one, [...known, 'nothing'], undefined)),
    ...writes.flatMap((one) => about(one, [request.id ?? 'nothing'], request.body ?? {})),
  ]
}

type Alter = (policy: Policy) => Policy

/** The policy of the predictions may be another one than the server's. */
function agrees(alter: Alter, seen: Set<number> = new Set()) {
  return fc.asyncProperty(askedAbout(...STORED), (asked) =>
    serveWorld(asked.world, async (served) => {
      const { resources } = served.app
      const predicted = await predictorOf(asked.world, served, alter)
      for (const one of requestsOf(resources, asked)) {
        const { routeMethod, id, body } = one
        const path = routeMethod.route.path.replace('{id}', id ?? '')
        const told = await served.ask(routeMethod.method, path, body === undefined ? {} : { body })
        seen.add(told.status)
        const shown = told.status < 300 ? told.body : undefined
        const wanted = { status: told.status, seen: shown?.items?.map(seenIn) ?? seenIn(shown) }
        expect(await predicted(one), `${routeMethod.method} ${path}`).to.deep.equal(wanted)
      }
    }),
  )
}

async function predictorOf(world: World, served: ServedWorld, alter: Alter) {
  const { resources } = served.app
  const now = world.now ?? 0
  const predict = createPredict(resources)
  const common = {
    evaluated: evaluatePolicy(alter(parsePolicy(filesOfWorld(world), resources)), resources, now),
    caller: world.caller.id === undefined ? undefined : callerOf(world),
    objects: await storedIn(served, world),
    facts: { now, ...(world.address === undefined ? {} : { address: world.address }) },
  }
  return async (sent: Sent) => {
    const { status, items, shown } = await predict({ ...common, ...sent })
    return { status, seen: items?.map((row) => seenIn(row.shown)) ?? seenIn(shown) }
  }
}

/** As the server has them, with their times. */
async function storedIn({ app }: ServedWorld, { objects = new Map() }: World) {
  const entries = [...objects].map(async ([name, all]): Promise<[string, Map<string, Representation>]> => {
    const found = await Promise.all(all.map(({ id }: { id?: unknown }) => app.store.get(name, String(id))))
    return [name, new Map(found.flatMap((one) => (one ? [[one.id, represent(one)] as const] : [])))]
  })
  return new Map(await Promise.all(entries))
}

describe('the predictor', () => {
  it('says what a server answers, under any policy', async () => {
    const seen = new Set<number>()
    await drawing(
      () =>
        fc.assert(
          agrees((policy) => policy, seen),
          { numRuns: runs(200, 20) },
        ),
      () => {
        expect([...seen]).to.include.members([200, 401, 403, 404])
        expect(seen.has(201) || seen.has(204), 'something is created or deleted').to.equal(true)
      },
    )
  })

  it('would not agree with a server whose policy has other rules', async () => {
    const lax: Alter = (policy) => ({ ...policy, rules: policy.rules.filter(({ effect }) => effect === 'allow') })
    const outcome = await fc.check(agrees(lax), { numRuns: 500, seed: 1, endOnFailure: true })
    expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
  })
})
