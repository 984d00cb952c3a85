/** Proposals of a folder, or of a block: checked and compared as `policy apply` does it. */
import { type FoundNeed, needSentence, needsOf } from '../../analysis/approvals/needs.ts'
import { parseBlocked } from '../../policy/parse/parse-blocked.ts'
import { BLOCKED_FILE } from '../../policy/policy-folder.ts'
import type { PersonSigner } from '../../policy/published/proposal.ts'
import type { Resources } from '../../resources/resource.ts'
import { type LoadedPolicy, loadPolicy, refuseNoDirectory, ToolError } from '../load-policy.ts'
import { type NewBlock, withBlock, withBlocks, withoutBlock } from '../release/block-lines.ts'
import type { PolicyContent } from '../release/content.ts'
import { type PlannedFiles, planFrom } from '../release/plan.ts'
import type { SignedVersions } from '../release/published-versions.ts'
import { withTemporaryFiles } from '../temporary-files.ts'
import { findProposal, type ProposalBase, propose, publishProposal, refuseStranger } from './proposals.ts'

interface ProposalAbout {
  readonly title: string
  readonly ticket: string | undefined
  /** Milliseconds since the epoch. */
  readonly notBefore: number | undefined
  readonly lifetimeMs: number
}

export interface ProposalParts {
  readonly signed: SignedVersions
  readonly base: ProposalBase
  readonly resources: Resources
  readonly signer: PersonSigner
}

interface ProposedFolder {
  /** Undefined for files that a server would refuse: nothing was proposed. */
  readonly proposal: number | undefined
  readonly plan: PlannedFiles
  readonly needs: readonly FoundNeed[]
}

/** Throws ToolError, also for files that change nothing. */
export async function proposeFolder(
  folder: string,
  { title, ticket, notBefore, lifetimeMs }: ProposalAbout,
  { signed, base, resources, signer }: ProposalParts,
): Promise<ProposedFolder> {
  await refuseNoDirectory(folder)
  refuseStranger(base.approvals, signer)
  const now = await signed.versions.now()
  if (notBefore !== undefined && notBefore < now) throw new ToolError('--not-before is in the past: give a later time')
  const plan = await planOf(folder, base, resources, { now })
  if (plan.check.errors > 0) return { proposal: undefined, plan, needs: [] }
  if (plan.sameRules && plan.blocks.length === 0) {
    throw new ToolError('nothing to propose: the version in force has these files already')
  }
  const blocked = withBlocks(base.policy.blockedFile.text, plan.blocks)
  const after = withBlocked(await loadPolicy(folder, resources), blocked)
  const needs = needsOf({ before: base.policy, after }, resources)
  const expires = (notBefore ?? now) + lifetimeMs
  const wanted = { title, ticket, notBefore, expires, content: plan.content, blocked }
  const { number } = await propose(signed.versions, base, wanted, signer)
  return { proposal: number, plan, needs }
}

/** What the files of a folder change. `now`: milliseconds since the epoch; `name`: of the files, for people. */
export async function planOf(
  folder: string,
  base: ProposalBase,
  resources: Resources,
  { now, name = folder }: { readonly now: number; readonly name?: string },
): Promise<PlannedFiles> {
  const files = [...contentOf(base.policy), [BLOCKED_FILE, base.policy.blockedFile.text] as const]
  return withTemporaryFiles(files, (present) => {
    const target = { folder: present, name: `version ${base.number}`, isHeldBack: async () => false }
    return planFrom(folder, name, { target, resources, now: new Date(now) })
  })
}

function contentOf({ files }: LoadedPolicy): PolicyContent {
  return new Map(Object.entries(files).map(([name, { text }]) => [name, Buffer.from(text)]))
}

function withBlocked(policy: LoadedPolicy, text: string): LoadedPolicy {
  const blockedFile = { name: BLOCKED_FILE, text }
  return { ...policy, blockedFile, blocked: parseBlocked(blockedFile) }
}

// ---- Blocks ---------------------------------------------------------------------------------------------------------

/** A block must not wait longer than people need. */
const BLOCK_LIFETIME_MS = 7 * 24 * 60 * 60 * 1000

export interface ProposedBlock {
  readonly proposal: number
  /** A sentence each. */
  readonly needs: readonly string[]
  /** Undefined while it lacks approvals. */
  readonly version: number | undefined
}

/** Undefined if the user is blocked already for that long. Throws ToolError. */
export function proposeBlock(block: NewBlock, parts: ProposalParts): Promise<ProposedBlock | undefined> {
  const reason = block.reason === undefined ? '' : `: ${block.reason}`
  return proposeBlocked(`block user:${block.id}${reason}`, parts, (source, now) => withBlock(source, block, now))
}

/** Undefined if the user isn't blocked. Throws ToolError. */
export function proposeUnblock(id: string, parts: ProposalParts): Promise<ProposedBlock | undefined> {
  return proposeBlocked(`unblock user:${id}`, parts, (source) => {
    const { text, removed } = withoutBlock(source, id)
    return removed > 0 ? text : undefined
  })
}

/** Published at once if nobody else must approve it. */
async function proposeBlocked(
  title: string,
  { signed, base, resources, signer }: ProposalParts,
  edit: (source: { readonly name: string; readonly text: string }, now: Date) => string | undefined,
): Promise<ProposedBlock | undefined> {
  const now = await signed.versions.now()
  const blocked = edit(base.policy.blockedFile, new Date(now))
  if (blocked === undefined) return undefined
  refuseStranger(base.approvals, signer)
  const after = withBlocked(base.policy, blocked)
  const needs = needsOf({ before: base.policy, after }, resources).map(needSentence)
  const wanted = { title, expires: now + BLOCK_LIFETIME_MS, content: contentOf(base.policy), blocked }
  const { number } = await propose(signed.versions, base, wanted, signer)
  if (needs.length > 0) return { proposal: number, needs, version: undefined }
  const status = await findProposal(signed.versions, base, number)
  return { proposal: number, needs, version: await publishProposal(signed, base, status, resources) }
}
