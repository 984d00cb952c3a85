/** Makes a proposal that enough people have approved the next version. No key is needed, so any instance may do it. */
import type { Resources } from '../../resources/resource.ts'
import { approvalsOf } from '../parse/parse-approvals.ts'
import { approvedText, readApproval } from './proposal.ts'
import type { VersionHome } from './signed-version.ts'
import {
  type ChainParts,
  judgeNext,
  readingIn,
  type UnapprovedChange,
  type ValidVersion,
  type VersionReader,
} from './version-chain.ts'

/** What a database keeps of proposals (src/store/policy-versions.ts). Every method may reject with StoreUnavailable. */
interface ProposalKeeper extends VersionReader {
  signaturesOf(proposal: number): Promise<readonly string[]>
  publish(version: {
    readonly number: number
    readonly signed: string
    readonly files: ReadonlyMap<string, string>
  }): Promise<boolean>
  /** Milliseconds since the epoch, by the clock of the database. */
  now(): Promise<number>
}

export interface PublishParts extends ChainParts {
  readonly versions: ProposalKeeper
  readonly resources: Resources
}

/** The number of the version; or why there is none: something is missing, or another version was published meanwhile. */
type Published = { readonly version: number } | { readonly outrun: true } | UnapprovedChange

/** `base`: the version in force. Throws FileError for files that these schemas don't fit, or that were changed. */
export async function publishApproved(
  proposal: { readonly number: number; readonly signed: string },
  base: ValidVersion,
  home: VersionHome,
  parts: PublishParts,
): Promise<Published> {
  const { versions, resources } = parts
  const approvals = approvalsOf((await readingIn(base.version, versions)).files(), resources)
  const signatures = await versions.signaturesOf(proposal.number)
  const valid = signatures.filter((one) => approvals && readApproval(one, { proposal: proposal.signed, approvals }))
  const time = new Date(await versions.now()).toISOString()
  const approved = { proposal: proposal.signed, approvals: valid, time }
  const found = await judgeNext(approved, base, home, parts)
  if ('code' in found) return found
  const stored = { number: found.number, signed: approvedText(approved), files: new Map() }
  return (await versions.publish(stored)) ? { version: found.number } : { outrun: true }
}
