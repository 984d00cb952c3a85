/** The command that explains the decision of a cell. It supposes what the cell supposes, as far as the command can. */

import { environment } from '../../../base/command-process.ts'
import { shellWord } from '../../../base/problems/mend.ts'
import { comparedFields, leavesOf } from '../../../decide/relations/all-kinds.ts'
import type { Relation } from '../../../decide/relations/relation-kind.ts'
import { programHere } from '../../../present/invocation.ts'
import { NONE } from '../../asked/supposed-names.ts'
import type { Suite } from '../predict/suite.ts'
import type { Expectation } from '../read/expectation.ts'

export function explainCommand({ folders, policy, resources }: Suite, expectation: Expectation): string {
  const { method, path, column, when, whenNot } = expectation
  const resource = resources.routes.find((route) => route.path === path)?.resource ?? ''
  const relations = [...(policy.ownership.get(resource)?.relations.values() ?? [])]
  const words = [
    ...['policy', 'explain'],
    ...(column.kind === 'roles' ? column.roles.flatMap((role) => ['--role', role]) : []),
    ...(column.kind === 'user' ? ['--subject', column.id] : []),
    ...[method === 'HEAD' ? 'GET' : method, path],
    ...relationWords(expectation),
    ...changeWords(expectation, relations),
    ...(when || whenNot ? ['--with', joined(when)] : []),
    // The command's defaults, unless the environment sets others.
    ...(folders.policies === 'policies' ? [] : ['--policies', folders.policies]),
    ...(folders.schemas === 'schemas' ? [] : ['--schemas', folders.schemas]),
  ]
  return `${programHere(environment())} ${words.map(shellWord).join(' ')}`
}

/** Of a new object, the relations that it will have. */
function relationWords({ object, becomes }: Expectation): readonly string[] {
  if (object.kind === 'relations') return ['--relation', joined(object.names)]
  if (object.kind === 'other') return ['--relation', NONE]
  return object.kind === 'none' && becomes ? ['--relation', joined(becomes)] : []
}

/** The command supposes a change of one field alone; for others it explains the object before the write. */
function changeWords({ object, becomes }: Expectation, relations: readonly Relation[]): readonly string[] {
  if (!becomes || object.kind === 'none' || object.kind === 'missing') return []
  const before = object.kind === 'relations' ? object.names : []
  const leaves = relations.filter((relation) => leavesOf(relation)[0] === relation)
  const changed = leaves.filter(({ name }) => before.includes(name) !== becomes.includes(name))
  const [field, ...others] = new Set(changed.flatMap(comparedFields))
  if (field === undefined || others.length > 0) return []
  const states = leaves.filter((relation) => comparedFields(relation).includes(field)).map(({ name }) => name)
  const [left, right] = [before, becomes].map((names) => joined(names.filter((name) => states.includes(name))))
  return ['--becomes', `${left}>${right}`]
}

function joined(names: readonly string[] = []): string {
  return names.length === 0 ? NONE : names.join('+')
}
