/** sallyport openapi */
import { Command } from 'commander'
import { didYouMean } from '../base/did-you-mean.ts'
import { packPolicy } from '../decide/rules/rule-table.ts'
import type { Snapshot, Subject } from '../decide/snapshot.ts'
import { Snapshots } from '../decide/snapshots.ts'
import { print } from '../present/print.ts'
import { loadResources } from '../resources/load/load-resources.ts'
import { accessOf, wholeAccess } from '../server/openapi/access.ts'
import { makeDocument } from '../server/openapi/document.ts'
import { loadPolicy, ReviewError } from '../tools/load-policy.ts'
import type { ReviewFolders } from './policy-command.ts'

interface Flags {
  readonly policies?: string
  readonly schemas?: string
  readonly role: readonly string[]
}

export function openapiCommand(folders: ReviewFolders): Command {
  return new Command('openapi')
    .description('print the OpenAPI document: everything, or what a caller has')
    .option('--policies <directory>', 'policy files (POLICIES, policies)')
    .option('--schemas <directory>', 'schema files (SCHEMAS, schemas)')
    .option('--role <name...>', 'only what a caller with this role has, or anonymous; repeat for more roles', [])
    .action(async (flags: Flags) => {
      print(`${JSON.stringify(await documentOf(folders, flags), null, 2)}\n`)
    })
}

async function documentOf(folders: ReviewFolders, flags: Flags): Promise<unknown> {
  const directories = { ...folders(), ...flags }
  const resources = await loadResources(directories.schemas)
  const { policy } = await loadPolicy(directories.policies, resources)
  const snapshot = new Snapshots(packPolicy(policy), resources).at(Date.now())
  if (flags.role.length === 0) return makeDocument(await wholeAccess(snapshot, resources), resources)
  refuseUnknown(flags.role, [...policy.roles.keys()])
  return makeDocument(await accessOf(snapshot, subjectOf(snapshot, flags.role), resources), resources)
}

function subjectOf(snapshot: Snapshot, roles: readonly string[]): Subject {
  // An id that no rule can name, so that the roles alone count.
  return snapshot.subjectOf(roles.includes('anonymous') ? undefined : { id: '', roles, claims: {} })
}

function refuseUnknown(asked: readonly string[], declared: readonly string[]): void {
  if (asked.includes('anonymous') && asked.length > 1) {
    throw new ReviewError('a caller without credentials has no roles; write `--role anonymous` alone')
  }
  const unknown = asked.find((role) => role !== 'anonymous' && !declared.includes(role))
  if (unknown === undefined) return
  throw new ReviewError(
    `\`${unknown}\` is not a role of roles.yaml; --role takes anonymous, ${declared.join(', ')}${didYouMean(unknown, [...declared, 'anonymous'])}`,
  )
}
