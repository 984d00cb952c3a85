/**
 * An evaluation is what the server's own route answers to the same caller, and a batch is its evaluations one by one: for
 * random policies, objects and callers, over HTTP.
 */
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import { askedAbout } from '../policy/arbitrary-language.ts'
import { STORED, TASKS } from '../policy/language-fixture.ts'
import type { Plain, World } from '../policy/world.ts'
import { withRules } from '../policy-text.ts'
import { type ServedWorld, serveWorld } from '../request/served-world.ts'
import { runs } from '../runs.ts'
import { questionsAgain } from './decided-again.ts'

const SHOP = { id: 'shop', roles: [], claims: {} }
const MAY_ASK = 'p, user:shop, system/access, evaluate|filter, any, *, allow'

interface Evaluated {
  readonly decision: boolean
}

/** What a service asks, and the request of the caller itself that it is about. */
interface Pair {
  readonly evaluation: Plain
  readonly method: string
  readonly path: string
  readonly body?: Plain
}

/** The caller signs in here, at no known time, and has a users record with its roles. */
function asInDirectory(world: World): World {
  const { id = '', roles, claims, record = { id } } = world.caller
  const { address, ...rest } = world
  const users = world.objects?.get('users')?.filter((one) => one.id !== id) ?? []
  const own = { ...record, roles }
  return {
    ...rest,
    caller: { id, roles, claims, record: own, credential: 'password' },
    objects: new Map(world.objects).set('users', [...users, own]),
  }
}

/** The last ones change objects, so that each is asked right before it is tried. */
function pairsOf({ resource: { name }, caller, objects }: World, body: Plain): readonly Pair[] {
  const about = (action: string, id: string, more: { readonly resource?: Plain; readonly action?: Plain } = {}) => ({
    subject: { type: 'user', id: caller.id ?? '' },
    resource: { type: name, id, ...more.resource },
    action: { name: action, ...more.action },
  })
  const ids = [...(objects?.get(name) ?? []).slice(0, 3).map(({ id }) => String(id)), 'missing']
  const with_ = { action: { properties: { body } } }
  const writes = name === 'tasks' ? ['update', 'claim', 'replace'] : ['update', 'replace']
  const paths: Readonly<Record<string, readonly [string, string]>> = {
    update: ['PATCH', ''],
    claim: ['PATCH', '/claim'],
    replace: ['PUT', ''],
  }
  const created = {
    evaluation: about('create', '', { resource: { properties: body } }),
    method: 'POST',
    path: `/${name}`,
    body,
  }
  const onEach = (pairOf: (id: string) => Omit<Pair, 'path'> & { path?: string }) =>
    ids.map((id) => ({ ...pairOf(id), path: `/${name}/${id}${pairOf(id).path ?? ''}` }))
  return [
    ...onEach((id) => ({ evaluation: about('read', id), method: 'GET' })),
    ...writes.flatMap((action) => {
      const [method, path] = paths[action] as [string, string]
      return onEach((id) => ({ evaluation: about(action, id, with_), method, path, body }))
    }),
    created,
    // A caller whose record is deleted is unknown from then on.
    ...onEach((id) => ({ evaluation: about('delete', id), method: 'DELETE' })).filter(
      ({ path }) => path !== `/users/${caller.id}`,
    ),
  ]
}

type Answerer = (served: ServedWorld, evaluation: Plain) => Promise<Evaluated>

const asServed: Answerer = async ({ ask }, evaluation) => {
  const { status, body } = await ask('POST', '/access/v1/evaluation', { as: SHOP.id, body: evaluation })
  expect(status).to.equal(200)
  return body
}

/** What depends on more than a service may say is false, and the route may still allow it. */
function isKnown({ policy }: World): boolean {
  return [...(policy.conditions?.values() ?? [])].every((condition) => 'zone' in condition)
}

async function compare(served: ServedWorld, world: World, body: Plain, answerer: Answerer): Promise<void> {
  for (const { evaluation, method, path, body: sent } of pairsOf(world, body)) {
    const whole = await answerer(served, evaluation)
    // What a read shows is asked about by name: a route shows a part of an object, too.
    const fields = method === 'GET' ? await shownIn(served, path) : []
    const told = fields.length > 0 ? await answerer(served, { ...evaluation, context: { fields } }) : whole
    const { status } = await served.ask(method, path, sent ? { body: sent } : {})
    const passed = status < 300 && (method !== 'GET' || fields.length > 0)
    const what = `${method} ${path} ${JSON.stringify(evaluation)}`
    if (told.decision || whole.decision) expect(status, what).to.be.lessThan(300)
    if (isKnown(world)) expect(told.decision, what).to.equal(passed || whole.decision)
  }
}

async function shownIn({ ask }: ServedWorld, path: string): Promise<readonly string[]> {
  const { status, body } = await ask('GET', path)
  return status === 200 ? Object.keys(body) : []
}

async function compareBatches({ ask }: ServedWorld, world: World, body: Plain): Promise<void> {
  const evaluations = pairsOf(world, body).map(({ evaluation }) => evaluation)
  const singles: Evaluated[] = []
  for (const one of evaluations) {
    singles.push((await ask('POST', '/access/v1/evaluation', { as: SHOP.id, body: one })).body)
  }
  const upTo = (decision: boolean) => {
    const last = singles.findIndex((one) => one.decision === decision)
    return last < 0 ? singles : singles.slice(0, last + 1)
  }
  const expected = { execute_all: singles, deny_on_first_deny: upTo(false), permit_on_first_permit: upTo(true) }
  const { subject } = evaluations[0] as Plain
  const items = evaluations.map(({ subject: own, ...item }, i) => (i % 2 ? item : { subject: own, ...item }))
  for (const [semantic, answers] of Object.entries(expected)) {
    const batch = { subject: subject ?? null, evaluations: items, options: { evaluations_semantic: semantic } }
    const told = await ask('POST', '/access/v1/evaluations', { as: SHOP.id, body: batch })
    expect(told.body, semantic).to.deep.equal({ evaluations: answers })
  }
}

/** Asks all questions, and decides them again by what the records hold. */
async function decideAgain({ app, ask, records }: ServedWorld, world: World, body: Plain): Promise<void> {
  for (const { evaluation } of pairsOf(world, body)) {
    await ask('POST', '/access/v1/evaluation', { as: SHOP.id, body: evaluation })
    const { id: _, ...resource } = evaluation.resource as Plain
    await ask('POST', '/access/v1/filter', { as: SHOP.id, body: { ...evaluation, resource } })
  }
  const found = await questionsAgain(app, await records())
  expect(found.length, 'questions').to.be.above(0)
  expect(found.filter(({ again }) => again.kind === 'different')).to.deep.equal([])
  const unknown = ['it depended on a condition that was not known']
  const open = found.flatMap(({ again }) => (again.kind === 'undecidable' ? [again.why] : []))
  expect(new Set(open).isSubsetOf(new Set(unknown)), open.join()).to.equal(true)
}

type Use = (served: ServedWorld, world: World, body: Plain) => Promise<void>

function inWorlds(resources: readonly (typeof TASKS)[], use: Use) {
  return fc.asyncProperty(askedAbout(...resources), async ({ world: drawn, request }) => {
    fc.pre(drawn.caller.id !== undefined)
    const world = asInDirectory(drawn)
    const files = (ofWorld: Readonly<Record<string, string>>) => ({
      ...ofWorld,
      'policy.csv': withRules(ofWorld['policy.csv'] ?? '', MAY_ASK),
    })
    await serveWorld(world, (served) => use(served, world, request.body ?? {}), { files, others: [SHOP] })
  })
}

const comparedWith = (answerer: Answerer): Use => {
  return (served, world, body) => compare(served, world, body, answerer)
}

describe('an evaluation, in a random world', () => {
  it('is what the route answers to the same caller about the same object', () =>
    fc.assert(inWorlds([TASKS, TASKS, ...STORED], comparedWith(asServed)), { numRuns: runs(24) }))

  it('is the same in a batch, for each semantic', () =>
    fc.assert(inWorlds([TASKS, ...STORED], compareBatches), { numRuns: runs(12) }))

  it('is decided again alike, by its record alone', () =>
    fc.assert(inWorlds([TASKS, ...STORED], decideAgain), { numRuns: runs(12) }))

  const wrong: Readonly<Record<string, Answerer>> = {
    'decides about another subject': (served, evaluation) =>
      asServed(served, { ...evaluation, subject: { type: 'user', id: 'shop' } }),
    'allows what a stranger would be refused': async () => ({ decision: true }),
  }
  for (const [fault, answerer] of Object.entries(wrong)) {
    it(`is compared so that a server is found out that ${fault}`, async () => {
      const outcome = await fc.check(inWorlds([TASKS], comparedWith(answerer)), {
        numRuns: 500,
        seed: 3,
        endOnFailure: true,
      })
      expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
    })
  }
})
