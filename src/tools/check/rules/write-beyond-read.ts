/** Finds objects that some caller may change or delete but not read, although the path has a read. */
import type { Diagnostic } from '../../../base/diagnostic.ts'
import { namesText } from '../../../present/quote.ts'
import type { Operation, Resource } from '../../../resources/resource.ts'
import { storedResources } from '../../../resources/stored-resources.ts'
import { CELL, type CheckedPolicy, type PolicyCheck, warning } from '../check.ts'
import { findUnreadWrites, firstLineOf, type UnreadWrite } from '../reach/unread-writes.ts'
import { pairsOf, type WritePair } from '../reach/writers.ts'

const WRITES: readonly Operation[] = ['replace', 'update', 'delete']

export const writesBeyondReads: PolicyCheck<CheckedPolicy> = {
  codes: [
    {
      code: 'write-beyond-read',
      meaning:
        'Somebody may replace, update or delete objects of a path but not read them, perhaps because a deny of another ' +
        'of its subjects stops the read: the same ownership should hold for every method',
      mend: 'Narrow the relation of the write to the relation of the read, widen the read, or deny the write where the read is denied',
    },
  ],
  find: (checked) =>
    storedResources(checked.resources).flatMap((resource) => {
      const judged = pairsOf(resource, checked.index, WRITES).map((pair) => ({
        pair,
        ...findUnreadWrites(pair, checked),
      }))
      const found = judged.flatMap((one) => one.found.map((write) => ({ ...write, pair: one.pair })))
      const alike = Map.groupBy(found, ({ line, ...about }) => `${line} ${mayText(about)} ${whichText(about, checked)}`)
      return [
        ...[...alike.values()].flatMap((some) => findingOf(resource, some, checked)),
        ...judged.filter(({ isDecided }) => !isDecided).map(({ pair }) => notDecided(pair, checked)),
      ]
    }),
}

type Beyond = UnreadWrite & { readonly pair: WritePair }

/** `alike`: the actions of one line that get the same message. */
function findingOf(resource: Resource, alike: readonly Beyond[], checked: CheckedPolicy): readonly Diagnostic[] {
  const [first] = alike
  if (!first) return []
  const actions = namesText(new Set(alike.map(({ pair }) => pair.write.action.name)))
  const objects = `objects of \`${resource.name}\` ${whichText(first, checked)}`
  const message = `${mayText(first)} ${actions} ${objects}, but not read them at \`${first.pair.path}\``
  const hint = 'narrow the relation of this line, allow reading with the same relation, or deny both'
  return [warning(checked.placeOfLine(first.line, CELL.action), 'write-beyond-read', message, hint)]
}

function mayText({ caller }: Pick<UnreadWrite, 'caller'>): string {
  return caller.length === 1 ? `${namesText(caller)} may` : `a caller with ${namesText(caller, ' and ')} may`
}

function whichText({ holding }: Pick<UnreadWrite, 'holding'>, { policy }: CheckedPolicy): string {
  if (holding.length === 0) return 'without a relation'
  const text = `\`${holding.join('+')}\``
  return holding.some((name) => policy.conditions.has(name)) ? `where ${text} holds` : `with the relation ${text}`
}

function notDecided({ write, path }: WritePair, { placeOfLine }: CheckedPolicy): Diagnostic {
  const may = `whether somebody may \`${write.action.name}\` objects of \`${write.resource.name}\``
  const message = `${may}, but not read them at \`${path}\`, is not decided: the lines combine too much`
  const hint = 'name fewer relations and conditions in these lines'
  return warning(placeOfLine(firstLineOf(write), CELL.action), 'write-beyond-read', message, hint)
}
