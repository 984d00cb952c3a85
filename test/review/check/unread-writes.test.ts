/** `write-beyond-read` tells what trying writes one by one finds, and nothing else, for random policies of the whole language. */
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import { relationColumnText } from '../../../src/decide/rules/terms.ts'
import { parsePolicy } from '../../../src/policy/parse/parse-policy.ts'
import { checkedPolicy } from '../../../src/tools/check/check.ts'
import { findUnreadWrites } from '../../../src/tools/check/reach/unread-writes.ts'
import { pairsOf } from '../../../src/tools/check/reach/writers.ts'
import { LANGUAGE_RESOURCES, STORED } from '../../policy/language-fixture.ts'
import { render } from '../../policy/render.ts'
import type { OraclePolicy } from '../../policy/world.ts'
import { drawing, fewOf, runs } from '../../runs.ts'
import { anyPolicy, CROSSING_RELATIONS, unreadPolicy } from './crossing-policy.ts'
import { Deciding, NotDecided } from './deciding.ts'
import { STARTS, type Wanted } from './random-writes.ts'
import { isShown, type UnreadWay, unreadWays } from './unread-writes-by-force.ts'

interface Told {
  /** `tasks update` */
  readonly write: string
  /** `tasks update: a owner>!owner` */
  readonly way: string
  readonly subject: string
  readonly caller: readonly string[]
  /** Whether other lines have to take part. */
  readonly isTogether: boolean
}

type Tell = (policy: OraclePolicy) => readonly Told[]

const told: Tell = (policy) => {
  const files = render(policy, { lineEnd: '\n', padding: ' ', comments: false })
  const written = parsePolicy(files, LANGUAGE_RESOURCES)
  const checked = checkedPolicy({ written, now: 0, resources: LANGUAGE_RESOURCES, files, directory: undefined })
  const columns = new Map(written.rules.map((rule) => [rule.line, sorted(relationColumnText(rule))]))
  return STORED.flatMap((resource) =>
    pairsOf(resource, checked.index, ['replace', 'update', 'delete']).flatMap((pair) => {
      const { found, isDecided } = findUnreadWrites(pair, checked)
      if (!isDecided) throw new NotDecided()
      const write = `${resource.name} ${pair.write.action.name}`
      return found.map(({ subject, line, caller, isTogether }) => {
        return { write, way: `${write}: ${subject} ${columns.get(line)}`, subject, caller, isTogether }
      })
    }),
  )
}

/** As `groupOf` writes it. */
function sorted(column: string): string {
  return column
    .split('>')
    .map((side) => side.split('+').toSorted().join('+'))
    .join('>')
}

/** Each way that the writes in some worlds show is told. */
function tellsAll(
  policies: fc.Arbitrary<OraclePolicy>,
  tell: Tell,
  count: (way: UnreadWay) => void = () => undefined,
  deciding: Deciding = new Deciding(),
) {
  return fc.property(policies, fc.nat(), (policy, seed) => {
    const found = deciding.ask(() => tell(policy))
    if (!found) return
    const lines = found.map(({ way }) => way)
    for (const way of unreadWays(policy, seed, 1000)) {
      count(way)
      expect(lines).to.include.members([...way.alone])
      const mine = found.filter(({ write, subject }) => write === way.write && way.subjects.has(subject))
      expect(mine, `${way.write} by ${[...way.subjects].join()}`).to.not.deep.equal([])
    }
  })
}

/** Each way that is told is shown by some write of the caller that it names, perhaps after many. */
function tellsOnly(
  policies: fc.Arbitrary<OraclePolicy>,
  tell: Tell,
  count: () => void = () => undefined,
  deciding: Deciding = new Deciding(),
  wanted: Pick<Wanted, 'starts'> = {},
) {
  return fc.property(policies, fc.nat(), (policy, seed) => {
    for (const one of fewOf(deciding.ask(() => tell(policy)) ?? [], 3, seed)) {
      count()
      expect(isToldRightly(policy, one, seed, wanted), `${one.way} by ${one.caller.join(' and ')}`).to.equal(true)
    }
  })
}

function isToldRightly(
  policy: OraclePolicy,
  { write, way, caller, isTogether }: Told,
  seed: number,
  wanted: Pick<Wanted, 'starts'>,
): boolean {
  const user = caller.find((name) => name.startsWith('user:'))?.slice('user:'.length)
  const roles = caller.filter((name) => policy.roles.includes(name))
  // Some folders have `other` as a viewer, some objects belong to u2 or u3.
  const ids = caller.includes('anonymous') ? [undefined] : user === undefined ? ['u2', 'u3', 'other'] : [user]
  const alone = isTogether ? undefined : way
  // Each has a search in turn: only one of them may be able to show it.
  const searches = Array.from({ length: wanted.starts ?? STARTS }, (_, nth) => ids.map((id) => ({ id, nth }))).flat()
  return searches.some(({ id, nth }) => isShown(policy, seed + nth, { starts: 1, write, caller: { id, roles } }, alone))
}

const ON_TASKS = { resource: 'tasks', views: ['*'], effect: 'allow' } as const

describe('the writes of objects that the writer may not read', () => {
  const drawn = { 'many walls': unreadPolicy, anything: anyPolicy } as const
  for (const which of ['many walls', 'anything'] as const) {
    it(`are all told, for policies with ${which}`, async () => {
      const shown = new Set<string>()
      const deciding = new Deciding()
      let asked = 0
      const count = ({ write }: UnreadWay) => shown.add(`${asked++} ${write}`)
      await drawing(
        () =>
          fc.assert(tellsAll(drawn[which], told, count, deciding), {
            numRuns: runs(120, which === 'anything' ? 12 : 60),
          }),
        () => {
          expect(shown.size).to.be.greaterThan(which === 'anything' ? 0 : 100)
          expect(deciding.isMostlyDecided).to.equal(true)
        },
      )
    })
  }

  it('are told only where some write of that caller shows it', async () => {
    let ways = 0
    const deciding = new Deciding()
    const count = () => {
      ways++
    }
    await drawing(
      () => fc.assert(tellsOnly(unreadPolicy, told, count, deciding), { numRuns: runs(20, 4) }),
      () => {
        expect(ways).to.be.greaterThan(5)
        expect(deciding.isMostlyDecided).to.equal(true)
      },
    )
  })

  /** One role's deny stops another one's read. */
  const RICH: OraclePolicy = {
    ...CROSSING_RELATIONS,
    rules: [
      { ...ON_TASKS, subject: 'a', actions: ['update'], relations: ['owner'], after: ['!owner'] },
      { ...ON_TASKS, subject: 'a', actions: ['read'], relations: [] },
      { ...ON_TASKS, subject: 'b', actions: ['read'], relations: ['open'], effect: 'deny' },
    ],
  }

  it('are told of callers whom another subject denies the read, if the line opens what has to change', () => {
    expect(told(RICH)).to.have.lengthOf(1)
    expect(told(RICH)[0]).to.deep.include({ way: 'tasks update: a owner>!owner', caller: ['a', 'b'] })
    const [first, ...rest] = RICH.rules
    expect(told({ ...RICH, rules: first ? [{ ...first, views: ['text'] }, ...rest] : [] })).to.deep.equal([])
  })

  it('are missed where other subjects of a caller are left out', () => {
    const blind: Tell = (policy) => told(policy).filter(({ caller }) => caller.length === 1)
    const [, ...reads] = RICH.rules
    const rule = { ...ON_TASKS, subject: 'a', actions: ['delete'], relations: [] }
    const walled = fc.constant({ ...RICH, rules: [rule, ...reads] })
    expect(() => fc.assert(tellsAll(walled, told), { numRuns: 20, seed: 1 })).not.to.throw()
    const outcome = fc.check(tellsAll(walled, blind), { numRuns: 20, seed: 1, endOnFailure: true })
    expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
  })

  it('are found out where they are made up', () => {
    const made: Tell = (policy) => told(policy).map((one) => ({ ...one, caller: ['a'] }))
    const outcome = fc.check(tellsOnly(fc.constant(RICH), made, undefined, undefined, { starts: 1 }), {
      numRuns: 1,
      seed: 1,
      endOnFailure: true,
    })
    expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
  })
})
