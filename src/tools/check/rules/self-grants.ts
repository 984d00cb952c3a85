/** Reports who can grant themselves a relation by writing data; reach/self-grants.ts finds them. */
import { basename } from 'node:path'
import { CELL, type CheckedPolicy, type PolicyCheck, warning } from '../check.ts'
import { findSelfGrants, type UndecidedGrant } from '../reach/self-grants.ts'

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
    return [...grants, ...undecided.map((one) => notDecided(one, checked))]
  },
}

function notDecided({ written, resource }: UndecidedGrant, { placeOfLine }: CheckedPolicy) {
  const { action, resource: target } = written
  const lines = [...written.subjects('allow')].flatMap((subject) =>
    written.groups('allow', subject).map(({ column }) => written.firstLine('allow', subject, column)),
  )
  const may = `whether somebody who may \`${action.name}\` objects of \`${target.name}\``
  const message = `${may} so gives itself more on \`${resource.name}\` is not decided: the lines combine too much`
  return warning(
    placeOfLine(Math.min(...lines), CELL.action),
    'self-grant',
    message,
    'name fewer relations and conditions in these lines',
  )
}
