/** `?can=true` tells what the gate allows: each action is tried over HTTP, for random policies, objects and callers. */
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import type { Can } from '../../src/decide/grants/abilities.ts'
import { askedAbout } from '../policy/arbitrary-language.ts'
import { STORED, TASKS } from '../policy/language-fixture.ts'
import { onObject } from '../policy/oracle.ts'
import type { Plain, World } from '../policy/world.ts'
import { runs } from '../runs.ts'
import { type ServedWorld, serveWorld } from './served-world.ts'

/** Where the gate lets these pass, the next check refuses them: no attempt writes. */
const ATTEMPTS = {
  read: { method: 'GET', path: '', passed: 200 },
  replace: { method: 'PUT', path: '', body: '{', passed: 400 },
  update: { method: 'PATCH', path: '', body: '{', passed: 400 },
  delete: { method: 'DELETE', path: '', headers: { 'If-Match': '"another"' }, passed: 412 },
  claim: { method: 'PATCH', path: '/claim', body: '{', passed: 400 },
} as const

/** What the gate allows on an object: the actions, tried one by one, and the fields of the oracle. */
async function allowedOn({ ask }: ServedWorld, world: World, object: Plain): Promise<Can> {
  const { name, readOnly } = world.resource
  const tried = Object.entries(ATTEMPTS).filter(([action]) => action !== 'claim' || name === 'tasks')
  const actions: string[] = []
  for (const [action, { method, path, passed, ...more }] of tried) {
    if ((await ask(method, `/${name}/${object.id}${path}`, more)).status === passed) actions.push(action)
  }
  const writable = [...onObject(world, 'update', object)].filter((field) => !readOnly.includes(field))
  return { actions: actions.toSorted(), fields: writable.toSorted() }
}

/** The objects whose `can` an answer tells, as items and as rows; a view may hide the ids of rows, but not their order. */
async function toldOf({ ask }: ServedWorld, { resource, objects }: World, listed: readonly Plain[]) {
  const told: [Plain, Can][] = []
  for (const object of objects?.get(resource.name) ?? []) {
    const { status, body } = await ask('GET', `/${resource.name}/${object.id}?can=true`)
    if (status === 200) told.push([object, body.can])
  }
  const page = await ask('GET', `/${resource.name}?can=true`)
  if (page.status !== 200) return told
  expect(page.body.items).to.have.length(listed.length)
  return [...told, ...listed.map((object, i): [Plain, Can] => [object, page.body.items[i].can])]
}

type Answerer = (world: World, object: Plain, can: Can) => Can

const AS_SERVED: Answerer = (_world, _object, can) => can

function tellsWhatTheGateAllows(answerer: Answerer, resources: readonly (typeof TASKS)[]) {
  return fc.asyncProperty(askedAbout(...resources), async ({ world }) => {
    const stored = world.objects?.get(world.resource.name) ?? []
    const listed = stored.filter((object) => onObject(world, 'list', object).size > 0)
    await serveWorld(world, async (served) => {
      for (const [object, can] of await toldOf(served, world, byIds(listed))) {
        const { actions, fields } = answerer(world, object, can)
        const told = { actions: actions.toSorted(), fields: fields.toSorted() }
        expect(told).to.deep.equal(await allowedOn(served, world, object))
      }
    })
  })
}

function byIds(objects: readonly Plain[]): readonly Plain[] {
  return objects.toSorted((one, other) => (String(one.id) < String(other.id) ? -1 : 1))
}

describe('`?can=true` of items and lists', () => {
  it('names exactly the actions that the gate allows on the stored object, and the writable fields', () =>
    fc.assert(tellsWhatTheGateAllows(AS_SERVED, [TASKS, TASKS, ...STORED]), { numRuns: runs(24) }))

  const wrong: Readonly<Record<string, Answerer>> = {
    'takes each field that may be read for one that may be written': (world, object, can) => {
      const { readOnly } = world.resource
      return { ...can, fields: [...onObject(world, 'read', object)].filter((field) => !readOnly.includes(field)) }
    },
  }
  for (const [fault, answerer] of Object.entries(wrong)) {
    it(`are compared so that a server is found out that ${fault}`, async () => {
      const outcome = await fc.check(tellsWhatTheGateAllows(answerer, [TASKS]), {
        numRuns: 500,
        seed: 1,
        endOnFailure: true,
      })
      expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
    })
  }
})
