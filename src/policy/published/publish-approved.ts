/** Makes a proposal that enough people have approved the next version. No key is needed, so any instance may do it. */
import type { Approvals } from '../../decide/policy.ts'
import type { Resources } from '../../resources/resource.ts'
import { approvalsOf } from '../parse/parse-approvals.ts'
import { approvedText, claimedProposal, readApproval, readApprovedText } from './proposal.ts'
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

/** The number of the new version; or `outrun`, because another version was published first; or what is missing. */
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
  const time = new Date(await versions.now()).toISOString()
  const signed = proposal.signed
  const approved = { proposal: signed, approvals: approvals ? chosen(signatures, signed, approvals) : [], time }
  const found = await judgeNext(approved, base, home, parts)
  if ('code' in found) return found
  const stored = { number: found.number, signed: approvedText(approved), files: new Map() }
  return (await versions.publish(stored)) ? { version: found.number } : { outrun: true }
}

/** Whether the version that the proposal would become is there, and is this one. */
export async function isPublished(versions: Pick<VersionReader, 'get'>, signed: string): Promise<boolean> {
  const base = claimedProposal(signed)?.base.number
  const next = base === undefined ? undefined : await versions.get(base + 1)
  return next !== undefined && readApprovedText(next)?.proposal === signed
}

/** Characters; less than stores read of a version (LONGEST_SIGNED). */
const MOST_TEXT = 99_000

/**
 * The first that closes the proposal; else one approval of each person, the shortest ones, as many as a version holds: one
 * person with much to say must not make a version that nobody can read.
 */
function chosen(signatures: readonly string[], proposal: string, approvals: Approvals): readonly string[] {
  const read = signatures
    .toSorted((a, b) => a.length - b.length)
    .flatMap((text) => {
      const found = readApproval(text, { proposal, approvals })
      return found ? [{ text, by: found.by, says: found.said.says, time: Date.parse(found.said.time) }] : []
    })
  const closing = read.find(({ says }) => says !== 'approved')
  if (closing) return [closing.text]
  const end = Date.parse(claimedProposal(proposal)?.expires ?? '')
  let left = MOST_TEXT - proposal.length
  return read
    .filter(({ time }) => time <= end)
    .filter(({ by }, i, all) => all.findIndex((one) => one.by === by) === i)
    .flatMap(({ text }) => {
      left -= text.length + '"",'.length
      return left >= 0 ? [text] : []
    })
}
