/** The OpenAPI document of policy and schema files: every operation, or those of callers with some roles. */
import { didYouMean } from '../../base/did-you-mean.ts'
import type { Subject } from '../../decide/grants/subjects.ts'
import { packPolicy } from '../../decide/rules/rule-table.ts'
import { Snapshots } from '../../decide/rules/snapshots.ts'
import type { Snapshot } from '../../decide/snapshot.ts'
import { loadResources } from '../../resources/load/load-resources.ts'
import { accessOf, wholeAccess } from '../../server/openapi/access.ts'
import { makeDocument } from '../../server/openapi/document.ts'
import { loadPolicy, type PolicyPlace, ToolError } from '../../tools/load-policy.ts'

interface DocumentOptions {
  readonly policies: PolicyPlace
  readonly schemas: string
  readonly role: readonly string[]
}

/** Throws FileError and ToolError. */
export async function openapiDocument({ policies, schemas, role }: DocumentOptions): Promise<unknown> {
  const resources = await loadResources(schemas)
  const { policy } = await loadPolicy(policies, resources)
  const origin = typeof policies === 'string' ? 'folder' : 'published'
  const snapshot = new Snapshots(packPolicy(policy), resources).at(Date.now())
  if (role.length === 0) return makeDocument(await wholeAccess(snapshot, resources), resources, origin)
  refuseUnknown(role, [...policy.roles.keys()])
  return makeDocument(await accessOf(snapshot, subjectOf(snapshot, role), resources), resources, origin)
}

function subjectOf(snapshot: Snapshot, roles: readonly string[]): Subject {
  // No rule can name this id, so only the roles count.
  return snapshot.subjectOf(roles.includes('anonymous') ? undefined : { id: '', roles, claims: {} })
}

function refuseUnknown(asked: readonly string[], declared: readonly string[]): void {
  if (asked.includes('anonymous') && asked.length > 1) {
    throw new ToolError('a caller without credentials has no roles: write `--role anonymous` alone')
  }
  const unknown = asked.find((role) => role !== 'anonymous' && !declared.includes(role))
  if (unknown === undefined) return
  throw new ToolError(
    `\`${unknown}\` is not a role of roles.yaml; --role takes anonymous, ` +
      `${declared.join(', ')}${didYouMean(unknown, [...declared, 'anonymous'])}`,
  )
}
