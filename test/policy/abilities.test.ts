/** `can` names what the oracle allows on the stored object, for random policies, objects and callers. */
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import { meets } from '../../src/decide/conditions/condition.ts'
import { withFacts } from '../../src/decide/facts.ts'
import { type Abilities, abilitiesOf, type Can } from '../../src/decide/grants/abilities.ts'
import { directPolicy } from '../../src/decide/grants/direct.ts'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import type { Representation } from '../../src/resources/resource.ts'
import { runs } from '../runs.ts'
import { type Asked, askedAbout } from './arbitrary-language.ts'
import { LANGUAGE_RESOURCES, STORED } from './language-fixture.ts'
import { factsOf, filesOfWorld, questionOf } from './language-product.ts'
import { list, onObject, roleLevel } from './oracle.ts'
import { storedOf } from './product.ts'
import type { OracleRule, Plain, World } from './world.ts'

const OF_OBJECTS = ['read', 'replace', 'update', 'delete', 'claim']
const OF_COLLECTIONS = ['list', 'create']

/** The abilities on the collection, and on each object as an item and as the row of a list. */
interface Told {
  readonly collection: Can
  readonly items: Readonly<Record<string, Can>>
  readonly rows: Readonly<Record<string, Can>>
}

function productTold(asked: Asked): Told {
  const { world } = asked
  const policy = directPolicy(parsePolicy(filesOfWorld(world), LANGUAGE_RESOURCES), LANGUAGE_RESOURCES, world.now)
  const facts = factsOf(world)
  const abilities = withFacts(abilitiesOf(questionOf(policy, asked), policy), facts) as Abilities
  const rowOf = (object: Plain) => {
    const row = object as Representation
    const seen = Object.fromEntries(Object.entries(row).filter(([name]) => abilities.rowFields.has(name)))
    const marks = abilities.marks.map((mark) => meets(mark, row, facts.lookup))
    return abilities.ofRow(String(object.id), seen, marks)
  }
  return {
    collection: abilities.collection,
    items: byId(world, (object) => withFacts(abilities.of(storedOf(object)), facts)),
    rows: byId(world, rowOf),
  }
}

function oracleTold(world: World): Told {
  const { resource } = world
  const isGiven = (action: string) => resource.name === 'tasks' || action !== 'claim'
  const writable = (granted: ReadonlySet<string>) =>
    resource.fields.filter((field) => granted.has(field) && !resource.readOnly.includes(field))
  const onOne = (object: Plain): Can => ({
    actions: OF_OBJECTS.filter((action) => isGiven(action) && onObject(world, action, object).size > 0),
    fields: writable(onObject(world, 'update', object)),
  })
  const objects = byId(world, onOne)
  return {
    collection: {
      actions: OF_COLLECTIONS.filter((action) => roleLevel(world, action)),
      fields: [],
    },
    items: objects,
    rows: objects,
  }
}

function byId(world: World, tell: (object: Plain) => Can): Readonly<Record<string, Can>> {
  const objects = world.objects?.get(world.resource.name) ?? []
  return Object.fromEntries(objects.map((object) => [String(object.id), ordered(tell(object))]))
}

function ordered({ actions, fields }: Can): Can {
  return { actions: actions.toSorted(), fields: fields.toSorted() }
}

function tellsTheSame(answerer: (asked: Asked) => Told) {
  return fc.property(askedAbout(...STORED), (asked) => {
    const { collection, ...objects } = answerer(asked)
    const { collection: expected, ...expectedObjects } = oracleTold(asked.world)
    expect(objects).to.deep.equal(expectedObjects)
    expect(collection.actions.toSorted()).to.deep.equal(expected.actions.toSorted())
  })
}

describe('what `can` tells', () => {
  it('is what the oracle allows on the stored object, and at role level for the collection', () => {
    fc.assert(tellsTheSame(productTold), { numRuns: runs(700) })
  })

  const wrong: Readonly<Record<string, (asked: Asked) => Told>> = {
    'takes negated terms for their names': changed((world) => withRules(world, (rule) => ({ ...rule, relations: [] }))),
    'takes right sides for denies that match': changed((world) => withRules(world, ({ after, ...rule }) => rule)),
    'finds no related object': changed((world) => {
      return { ...world, objects: new Map([[world.resource.name, world.objects?.get(world.resource.name) ?? []]]) }
    }),
    'reads claims where there is a record': changed(({ caller: { record, ...caller }, ...world }) => {
      return { ...world, caller }
    }),
    'tells of an object what the role level allows': ({ world }) => {
      const told = oracleTold(world)
      const actions = OF_OBJECTS.filter((action) => world.resource.fields && roleLevel(world, action)).toSorted()
      const items = Object.fromEntries(Object.entries(told.items).map(([id, can]) => [id, { ...can, actions }]))
      return { ...told, items }
    },
    'tells of listed objects only': ({ world }) => {
      const told = oracleTold(world)
      const listed = new Set(list(world, world.objects?.get(world.resource.name) ?? []).map(({ id }) => String(id)))
      const entries = Object.entries(told.rows).map(([id, can]) => [
        id,
        listed.has(id) ? can : { actions: [], fields: [] },
      ])
      return { ...told, rows: Object.fromEntries(entries) }
    },
  }

  for (const [fault, answerer] of Object.entries(wrong)) {
    it(`is compared so that an answerer is found out that ${fault}`, () => {
      const outcome = fc.check(tellsTheSame(answerer), { numRuns: 20_000, endOnFailure: true })
      expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
    })
  }
})

function changed(tamper: (world: World) => World): (asked: Asked) => Told {
  return ({ world }) => oracleTold(tamper(world))
}

function withRules(world: World, change: (rule: OracleRule) => OracleRule): World {
  return { ...world, policy: { ...world.policy, rules: world.policy.rules.map(change) } }
}
