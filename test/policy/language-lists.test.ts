/** Lists of the second edition: what the filter finds in a real database, and shows of each row, is what the oracle lists. */
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import { decide } from '../../src/decide/decide.ts'
import { withFacts } from '../../src/decide/facts.ts'
import { directPolicy } from '../../src/decide/grants/direct.ts'
import { ListDecision } from '../../src/decide/grants/list-decision.ts'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import type { Store } from '../../src/store/contract.ts'
import { rowWriter } from '../../src/store/lists/json-row.ts'
import { openSqlite } from '../../src/store/sqlite/open.ts'
import { runs } from '../runs.ts'
import { type Asked, randomAsked } from './arbitrary-language.ts'
import { objectOf } from './arbitrary-objects.ts'
import { LANGUAGE_RESOURCES, STORED } from './language-fixture.ts'
import { factsOf, filesOfWorld, questionOf } from './language-product.ts'
import { answer } from './oracle/answer.ts'
import type { Plain } from './world.ts'

const COUNTS: Readonly<Record<string, number>> = { tasks: 60, projects: 2, memberships: 12, folders: 3, users: 2 }

/** The same in every run. */
const OBJECTS = new Map(
  STORED.map(({ name }, i) => [name, sampled(name, (n) => (name === 'users' ? `u${n}` : `${name}-${n}`), i)]),
)

function sampled(name: string, idOf: (n: number) => string, seed: number): readonly Plain[] {
  const resource = STORED.find((one) => one.name === name)
  if (!resource) throw new Error(`there is no resource ${name}`)
  const ids = Array.from({ length: COUNTS[name] ?? 0 }, (_, i) => idOf(i + 1))
  return fc.sample(fc.tuple(...ids.map((id) => objectOf(resource, id))), { numRuns: 1, seed: seed + 5 }).flat()
}

type Rows = Readonly<Record<string, readonly string[]>>
type Lister = (asked: Asked) => Promise<Rows | undefined>

function withObjects({ world, ...more }: Asked): Asked {
  const record = OBJECTS.get('users')?.find(({ id }) => id === world.caller.id)
  const { record: _, ...caller } = world.caller
  const resource = { ...world.resource }
  return {
    ...more,
    request: { action: 'list', ...(more.request.view && { view: more.request.view }) },
    world: { ...world, resource, objects: OBJECTS, caller: record ? { ...caller, record } : caller },
  }
}

describe('a list of the second edition', () => {
  let store: Store

  before(async () => {
    const indexFields = new Map(
      STORED.map(({ name, fields }) => [
        name,
        [...fields.values()].filter((one) => one.indexed).map((one) => one.name),
      ]),
    )
    const opened = await openSqlite({
      file: ':memory:',
      resources: LANGUAGE_RESOURCES,
      now: () => new Date('2026-01-01T00:00:00.000Z'),
      indexFields,
    })
    store = opened.store
    for (const [name, objects] of OBJECTS) {
      await opened.seeding.insert(
        name,
        objects.map(({ id, createdAt, updatedAt, ...document }) => ({ id: String(id), document })),
      )
    }
  })

  after(() => store.close())

  const product: Lister = async (asked) => {
    const policy = directPolicy(
      parsePolicy(filesOfWorld(asked.world), LANGUAGE_RESOURCES),
      LANGUAGE_RESOURCES,
      asked.world.now,
    )
    const decision = await withFacts(decide(questionOf(policy, asked), policy), factsOf(asked.world))
    if (!(decision instanceof ListDecision)) return undefined
    const rows = await store.list(asked.world.resource.name, {
      where: decision.where,
      marks: decision.marks,
      limit: 100,
    })
    const write = rowWriter(decision.rowFields())
    return Object.fromEntries(rows.map((row) => [row.id, Object.keys(JSON.parse(write(row))).toSorted()]))
  }

  function listsLikeTheOracle(lister: Lister) {
    return fc.asyncProperty(randomAsked, async (random) => {
      if (random.world.resource.builtIn) return
      const asked = withObjects(random)
      expect(await lister(asked)).to.deep.equal(answer(asked.world, asked.request).rows)
    })
  }

  it('holds the objects that the oracle lists one by one, and shows their fields', () =>
    fc.assert(listsLikeTheOracle(product), { numRuns: runs(800) }))

  it('is compared so that a list is found out that finds no related object', async () => {
    const alone: Lister = async ({ world, request }) => {
      const { name } = world.resource
      return answer({ ...world, objects: new Map([[name, OBJECTS.get(name) ?? []]]) }, request).rows
    }
    const outcome = await fc.check(listsLikeTheOracle(alone), { numRuns: 5000, seed: 1, endOnFailure: true })
    expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
  })
})
