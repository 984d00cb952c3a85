/**
 * Who can write more than was meant: which relations they give themselves, what they change unread, and what refused
 * writes reveal them.
 */
import { basename } from 'node:path'
import type { ActionRules } from '../../../analysis/action-rules.ts'
import { type Extent, NOWHERE, whereNamed } from '../../../analysis/regions.ts'
import { decisionsOf } from '../../../analysis/space.ts'
import { CELL } from '../../../policy/parse/rule-lines.ts'
import { namesText } from '../../../present/quote.ts'
import type { Operation, Resource } from '../../../resources/resource.ts'
import { type CrossFieldRule, crossFieldRulesIn } from '../../../resources/schema/comparisons.ts'
import { storedResources } from '../../../resources/stored-resources.ts'
import { type CheckedPolicy, check, type FoundAt, type PolicyCheck } from '../check.ts'
import { findSelfGrants } from '../reach/self-grants.ts'
import { findUnreadWrites, firstLineOf, type UnreadWrite } from '../reach/unread-writes.ts'
import { eventPairs, historyPairs, pairsOf, type WritePair } from '../reach/writers.ts'

export const ESCALATION: readonly PolicyCheck[] = [
  check({
    code: 'self-grant',
    find: (checked) => {
      const { found, undecided } = findSelfGrants(checked)
      const grants = found.map(({ write, gain, written, relation, resource }) => {
        const { file, line } = checked.placeOfLine(gain.line)
        const may = `\`${write.subject}\` may \`${written.action.name}\` objects of \`${written.resource.name}\``
        const rests = `on which the relation \`${relation.name}\` of \`${resource.name}\` rests`
        const message = `${may}, ${rests}, and so gives itself what ${basename(file)}:${line} allows`
        const hint = 'let the write need a relation that is held already, or keep the fields out of its views'
        return { at: checked.placeOfLine(write.line, CELL.action), message, hint }
      })
      return [
        ...grants,
        ...undecided.map(({ written, resource }) => {
          const may = `who may \`${written.action.name}\` objects of \`${written.resource.name}\``
          return notDecided(written, `${may} so gives itself more on \`${resource.name}\``, checked)
        }),
      ]
    },
  }),
  beyondRead('write-beyond-read', (resource, index) => pairsOf(resource, index, ['replace', 'update', 'delete'])),
  beyondRead('history-beyond-read', historyPairs),
  beyondRead('watch-beyond-read', eventPairs),
  check({
    code: 'schema-tells',
    find: (checked) =>
      storedResources(checked.resources).flatMap((resource) =>
        crossFieldRulesIn(resource).flatMap((comparison) => revealed(resource, comparison, checked)),
      ),
  }),
]

/** `which`: what the lines that allow `write` may let somebody do. */
function notDecided(write: ActionRules, which: string, { placeOfLine }: CheckedPolicy): FoundAt {
  const message = `whether somebody ${which} is not decided: the lines combine too much`
  const hint = 'name fewer relations and conditions in these lines'
  return { at: placeOfLine(firstLineOf(write), CELL.action), message, hint }
}

type Beyond = UnreadWrite & { readonly pair: WritePair }

/** What somebody may do with objects that the same caller may not read. */
function beyondRead(
  code: string,
  pairsIn: (resource: Resource, index: CheckedPolicy['index']) => readonly WritePair[],
): PolicyCheck {
  return check({
    code,
    find: (checked) =>
      storedResources(checked.resources).flatMap((resource) =>
        allBeyondRead(resource, pairsIn(resource, checked.index), checked),
      ),
  })
}

function allBeyondRead(resource: Resource, pairs: readonly WritePair[], checked: CheckedPolicy): readonly FoundAt[] {
  const judged = pairs.map((pair) => ({ pair, ...findUnreadWrites(pair, checked) }))
  const found = judged.flatMap((one) => one.found.map((write) => ({ ...write, pair: one.pair })))
  const alike = Map.groupBy(found, ({ line, ...about }) => `${line} ${mayText(about)} ${whichText(about, checked)}`)
  return [
    ...[...alike.values()].flatMap((some) => unreadAt(resource, some, checked)),
    ...judged
      .filter(({ isDecided }) => !isDecided)
      .map(({ pair: { write, path } }) => {
        const may = `may \`${write.action.name}\` objects of \`${resource.name}\``
        return notDecided(write, `${may}, but not read them at \`${path}\`,`, checked)
      }),
  ]
}

/** `alike`: the actions of one line that get the same message. */
function unreadAt(resource: Resource, alike: readonly Beyond[], checked: CheckedPolicy): readonly FoundAt[] {
  const [first] = alike
  if (!first) return []
  const actions = namesText(new Set(alike.map(({ pair }) => pair.write.action.name)))
  const objects = `objects of \`${resource.name}\` ${whichText(first, checked)}`
  const message = `${mayText(first)} ${actions} ${objects}, but not read them at \`${first.pair.path}\``
  const hint = 'narrow the relation of this line, allow reading with the same relation, or deny both'
  return [{ at: checked.placeOfLine(first.line, CELL.action), message, hint }]
}

function mayText({ caller }: Pick<UnreadWrite, 'caller'>): string {
  return caller.length === 1 ? `${namesText(caller)} may` : `a caller with ${namesText(caller, ' and ')} may`
}

function whichText({ holding }: Pick<UnreadWrite, 'holding'>, { policy }: CheckedPolicy): string {
  if (holding.length === 0) return 'without a relation'
  const text = `\`${holding.join('+')}\``
  return holding.some((name) => policy.conditions.has(name)) ? `where ${text} holds` : `with the relation ${text}`
}

// ---- What a rule of the schema about several fields reveals of a field that the writer can't read.

const CHANGES: readonly Operation[] = ['replace', 'update']

/** The first writer who learns something from the comparison. */
function revealed(resource: Resource, comparison: CrossFieldRule, checked: CheckedPolicy): readonly FoundAt[] {
  for (const pair of pairsOf(resource, checked.index, CHANGES)) {
    const { write } = pair
    for (const writer of writersIn(pair, checked)) {
      const learned = learnedBy(writer, pair, comparison)
      if (!learned) continue
      const { subject, from, column } = writer
      const may = `\`${subject}\` may ${write.action.name} ${namesText(learned.writes)} of \`${resource.name}\``
      const compared = `\`${comparison.keyword}\` of the schema compares them, so answers reveal stored values`
      const message = `${may} but not read ${namesText(learned.hidden)}; ${compared}`
      const hint = 'let the subject read these fields, or remove the rule from the schema'
      const line = write.firstLine('allow', from, column)
      return [{ at: checked.placeOfLine(line, CELL.fields), message, hint }]
    }
  }
  return []
}

/** Who may write through one group of rules. */
interface Learner {
  readonly subject: string
  /** The subject of the rules: the same one, or one that it inherits. */
  readonly from: string
  readonly column: string
  /** What the rules grant despite denies: for a write that changes an object, some result of it. */
  readonly writing: readonly Extent[]
  readonly reading: readonly Extent[]
}

/** Of subjects with the same rules, the first. */
function* writersIn({ write, read }: WritePair, { policy, index }: CheckedPolicy): Generator<Learner> {
  const { space } = write
  const decision = decisionsOf(write.resource, write.action).changes ? space.second : space.first
  const heirs = new Set(['anonymous', ...policy.roles.keys(), ...read.subjects('deny')])
  const own = [...write.subjects('allow')].map((subject) => ({ subject, from: subject }))
  const inherited = [...heirs].flatMap((subject) =>
    [...index.subjectsOf(subject)].filter((name) => name !== subject).map((from) => ({ subject, from })),
  )
  const seen = new Set<string>()
  for (const { subject, from } of [...own, ...inherited]) {
    const likeness = `${index.profileOf(subject)} ${subject === from ? '' : from}`
    if (seen.has(likeness)) continue
    seen.add(likeness)
    const subjects = index.subjectsOf(subject)
    const reading = read.granted(read.extents('allow', subjects), subjects)
    for (const group of write.groups('allow', from)) {
      const writing = write.granted([group], subjects).map(({ fields, region }) => ({
        fields,
        region: space.storedSide(space.regions.both(region, decision)),
      }))
      yield { subject, from, column: group.column, writing, reading }
    }
  }
}

/** The fields that are compared, and that somebody writes without reading the other ones. */
function learnedBy(
  { writing, reading }: Learner,
  { write: { resource, space } }: WritePair,
  { fields }: CrossFieldRule,
) {
  const { regions } = space
  const places = [...resource.fields.values()].flatMap(({ name, readOnly }, bit) => {
    if (!fields.has(name)) return []
    const mask = 1n << BigInt(bit)
    const written = readOnly ? NOWHERE : whereNamed(regions, writing, mask)
    return [{ name, written, hidden: regions.not(space.storedSide(whereNamed(regions, reading, mask))) }]
  })
  const crossings = places.flatMap((one) =>
    places.map((other) => (other === one ? NOWHERE : regions.both(one.written, other.hidden))),
  )
  const region = crossings.find((one) => one !== NOWHERE)
  if (region === undefined) return undefined
  const situation = regions.smallest(region)
  const namesIn = (place: 'written' | 'hidden') =>
    places.filter((field) => regions.has(field[place], situation)).map(({ name }) => name)
  return { writes: namesIn('written'), hidden: namesIn('hidden') }
}
