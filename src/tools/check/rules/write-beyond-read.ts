/** Finds objects that some caller may change or delete but not read, although the path has a read. */
import type { Diagnostic } from '../../../base/diagnostic.ts'
import type { Policy } from '../../../decide/policy.ts'
import { NOWHERE } from '../../../decide/relations/regions.ts'
import { namesText } from '../../../present/quote.ts'
import type { Operation, Resource } from '../../../resources/resource.ts'
import { CELL, type CheckedPolicy, type PolicyCheck, warning } from '../check.ts'
import { holdTogether } from '../reach/related-objects.ts'
import { judgeWriters, pairsOf, readableBy, type WritePair } from '../reach/writers.ts'

const WRITES: readonly Operation[] = ['replace', 'update', 'delete']

export const writesBeyondReads: PolicyCheck<CheckedPolicy> = {
  codes: [
    {
      code: 'write-beyond-read',
      meaning:
        'Somebody may replace, update or delete objects of a path but not read them: the same ownership should hold ' +
        'for every method',
      mend: 'Narrow the relation of the write to the relation of the read, or widen the read',
    },
  ],
  find: (checked) =>
    [...checked.resources.byName.values()].flatMap((resource) => {
      if (resource.external) return []
      const found = pairsOf(resource, checked.index, WRITES).flatMap((pair) => beyond(pair, checked))
      return [...Map.groupBy(found, ({ subject, line, which }) => `${line} ${subject} ${which}`).values()].flatMap(
        (alike) => findingOf(resource, alike, checked),
      )
    }),
}

/** `alike`: the actions of one line that get the same message. */
function findingOf(
  resource: Resource,
  alike: readonly Beyond[],
  { placeOfLine }: CheckedPolicy,
): readonly Diagnostic[] {
  const [first] = alike
  if (!first) return []
  const actions = namesText(alike.map(({ pair }) => pair.write.action.name))
  const may = `\`${first.subject}\` may ${actions} objects of \`${resource.name}\` ${first.which}`
  const message = `${may}, but not read them at \`${first.pair.path}\``
  const hint = 'narrow the relation of this line, or allow reading with the same relation'
  return [warning(placeOfLine(first.line, CELL.action), 'write-beyond-read', message, hint)]
}

interface Beyond {
  readonly subject: string
  readonly pair: WritePair
  readonly line: number
  /** Which objects, in words. */
  readonly which: string
}

function beyond(pair: WritePair, checked: CheckedPolicy): readonly Beyond[] {
  const { policy, index, resources } = checked
  const { space, resource } = pair.write
  const { regions } = space
  const exists = holdTogether(regions, space.leaves, { resource, resources }, (leaf) => space.stored(leaf))
  const judged = judgeWriters(pair, checked, ({ subject, granted }) => {
    const writable = regions.both(exists, regions.any(granted.map(({ region }) => region)))
    const unread = regions.minus(writable, readableBy(pair.read, index.subjectsOf(subject)))
    return unread === NOWHERE ? undefined : whichObjects(space.namesFor(regions.smallest(unread)), policy)
  })
  return judged.map(({ subject, line, found }) => ({ subject, pair, line, which: found }))
}

function whichObjects(names: readonly string[], { conditions }: Policy): string {
  if (names.length === 0) return 'without a relation'
  const text = `\`${names.join('+')}\``
  return names.some((name) => conditions.has(name)) ? `where ${text} holds` : `with the relation ${text}`
}
