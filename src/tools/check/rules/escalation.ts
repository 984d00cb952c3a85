/** Reports who can write more than was meant: what relations they grant themselves, and what they change unread. */

import { basename } from 'node:path'
import type { ActionRules } from '../../../analysis/action-rules.ts'
import type { Diagnostic } from '../../../base/diagnostic.ts'
import { namesText } from '../../../present/quote.ts'
import type { Operation, Resource } from '../../../resources/resource.ts'
import { storedResources } from '../../../resources/stored-resources.ts'
import { CELL, type CheckedPolicy, type PolicyCheck, warning } from '../check.ts'
import { findSelfGrants } from '../reach/self-grants.ts'
import { findUnreadWrites, firstLineOf, type UnreadWrite } from '../reach/unread-writes.ts'
import { pairsOf, type WritePair } from '../reach/writers.ts'

export const selfGrants: PolicyCheck<CheckedPolicy> = {
  codes: [
    {
      code: 'self-grant',
      meaning:
        'A subject that is not a role with `privileged: true` may write the data on which a relation rests (other ' +
        'objects, the fields that lead to them, its own users record), and so allow itself what another line allows ' +
        'by this relation, and what nothing allowed it before',
      mend:
        'Let the write need a relation that is held already, keep the fields out of its views, or write `privileged: ' +
        'true` at the role; if this is intended, suppress the warning and give the reason',
    },
  ],
  find: (checked) => {
    const { found, undecided } = findSelfGrants(checked)
    const grants = found.map(({ write, gain, written, relation, resource }) => {
      const { file, line } = checked.placeOfLine(gain.line)
      const may = `\`${write.subject}\` may \`${written.action.name}\` objects of \`${written.resource.name}\``
      const rests = `on which the relation \`${relation.name}\` of \`${resource.name}\` rests`
      const message = `${may}, ${rests}, and so gives itself what ${basename(file)}:${line} allows`
      const hint = 'let the write need a relation that is held already, or keep the fields out of its views'
      return warning(checked.placeOfLine(write.line, CELL.action), 'self-grant', message, hint)
    })
    return [
      ...grants,
      ...undecided.map(({ written, resource }) => {
        const may = `who may \`${written.action.name}\` objects of \`${written.resource.name}\``
        return notDecided('self-grant', written, `${may} so gives itself more on \`${resource.name}\``, checked)
      }),
    ]
  },
}

/** `which`: what the lines that allow `write` may let somebody do. */
function notDecided(
  code: 'self-grant' | 'write-beyond-read',
  write: ActionRules,
  which: string,
  { placeOfLine }: CheckedPolicy,
): Diagnostic {
  const message = `whether somebody ${which} is not decided: the lines combine too much`
  const hint = 'name fewer relations and conditions in these lines'
  return warning(placeOfLine(firstLineOf(write), CELL.action), code, message, hint)
}

// ---- Finds objects that some caller may change or delete but not read, although the path has a read.

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
        ...judged
          .filter(({ isDecided }) => !isDecided)
          .map(({ pair: { write, path } }) => {
            const may = `may \`${write.action.name}\` objects of \`${resource.name}\``
            return notDecided('write-beyond-read', write, `${may}, but not read them at \`${path}\`,`, checked)
          }),
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
