/** Proposals of a folder, or of a block: checked and compared as `policy apply` does it. */
import { isDeepStrictEqual } from 'node:util'
import { type FoundNeed, needSentence, needsOf } from '../../analysis/approvals/needs.ts'
import type { SourceFile } from '../../base/diagnostic.ts'
import { parseBlocked } from '../../policy/parse/parse-blocked.ts'
import { BLOCKED_FILE } from '../../policy/policy-folder.ts'
import { claimedProposal } from '../../policy/published/proposal.ts'
import type { PersonSigner } from '../../policy/published/signed-by-person.ts'
import type { Resources } from '../../resources/resource.ts'
import type { StoredProposal } from '../../store/policy-versions.ts'
import { type LoadedPolicy, loadPolicy, orFaults, refuseNoDirectory, ToolError } from '../load-policy.ts'
import { type NewBlock, withBlock, withBlocks, withoutBlock } from '../release/block-lines.ts'
import type { PolicyContent } from '../release/content.ts'
import { type PlannedFiles, planFrom } from '../release/plan.ts'
import type { SignedVersions } from '../release/published-versions.ts'
import { withTemporaryFiles } from '../temporary-files.ts'
import { gatherEvidence, type ToldEvidence } from './evidence.ts'
import {
  findProposal,
  needsOfProposal,
  type ProposalBase,
  type ProposalStatus,
  propose,
  publishProposal,
  readProposals,
  refuseStranger,
  timeToSign,
  wholeProposal,
} from './proposals.ts'

interface ProposalAbout {
  readonly title: string
  readonly ticket: string | undefined
  /** Milliseconds since the epoch. */
  readonly notBefore: number | undefined
  readonly lifetimeMs: number
  /** See EvidenceWanted. */
  readonly matrices: readonly string[]
}

export interface ProposalParts {
  readonly signed: SignedVersions
  readonly base: ProposalBase
  readonly resources: Resources
  readonly schemas: string
  readonly signer: PersonSigner
}

interface ProposedFolder {
  /** Undefined for files that a server would refuse: nothing was proposed. */
  readonly proposal: number | undefined
  readonly plan: PlannedFiles
  readonly needs: readonly FoundNeed[]
  readonly evidence?: ToldEvidence
}

/** Throws ToolError, also for files that change nothing. */
export async function proposeFolder(
  folder: string,
  { title, ticket, notBefore, lifetimeMs, matrices }: ProposalAbout,
  { signed, base, resources, schemas, signer }: ProposalParts,
): Promise<ProposedFolder> {
  await refuseNoDirectory(folder)
  refuseStranger(base.approvals, signer)
  const now = await timeToSign(signed.versions, signer)
  if (notBefore !== undefined && notBefore < now) throw new ToolError('--not-before is in the past: give a later time')
  const plan = await planOf(folder, base, resources, { now })
  if (plan.check.errors > 0) return { proposal: undefined, plan, needs: [] }
  if (plan.sameRules && plan.blocks.length === 0) {
    throw new ToolError('nothing to propose: the version in force has these files already')
  }
  const blocked = withBlocks(base.policy.blockedFile.text, plan.blocks)
  const after = withBlocked(await loadPolicy(folder, resources), blocked)
  const needs = needsOf({ before: base.policy, after }, resources)
  const change = { before: base.policy, after, folder, check: plan.check, resources, schemas, now }
  const expires = (notBefore ?? now) + lifetimeMs
  const wanted = { title, ticket, time: now, notBefore, expires, content: plan.content, blocked }
  let evidence: ToldEvidence | undefined
  const { number } = await propose(signed.versions, base, wanted, signer, async () => {
    evidence = await gatherEvidence({ ...change, beforeName: `version ${base.number}` }, { matrices })
  })
  return { proposal: number, plan, needs, ...(evidence && { evidence }) }
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
  /** False for one that was open already. */
  readonly made: boolean
  /** A sentence each. */
  readonly needs: readonly string[]
  /** Undefined while it lacks approvals. */
  readonly version: number | undefined
}

/** Undefined if the user is blocked already for that long. Throws ToolError. */
export function proposeBlock(block: NewBlock, parts: ProposalParts): Promise<ProposedBlock | undefined> {
  const reason = block.reason === undefined ? '' : `: ${block.reason}`
  const title = `block user:${block.id}${reason}`
  return proposeBlocked({ id: block.id, title, edit: (source, now) => withBlock(source, block, now) }, parts)
}

/** Undefined if the user isn't blocked. Throws ToolError. */
export function proposeUnblock(id: string, parts: ProposalParts): Promise<ProposedBlock | undefined> {
  const edit = (source: SourceFile) => {
    const { text, removed } = withoutBlock(source, id)
    return removed > 0 ? text : undefined
  }
  return proposeBlocked({ id, title: `unblock user:${id}`, edit }, parts)
}

interface BlockChange {
  readonly id: string
  readonly title: string
  /** Undefined if nothing is to do. */
  readonly edit: (source: SourceFile, now: Date) => string | undefined
}

/** Published at once if nobody else must approve it. */
async function proposeBlocked(change: BlockChange, parts: ProposalParts): Promise<ProposedBlock | undefined> {
  const { signed, base, resources, signer } = parts
  const { versions } = signed
  const now = await timeToSign(versions, signer)
  const blocked = change.edit(base.policy.blockedFile, new Date(now))
  if (blocked === undefined) return undefined
  refuseStranger(base.approvals, signer)
  const { title } = change
  const wanted = { title, time: now, expires: now + BLOCK_LIFETIME_MS, content: contentOf(base.policy), blocked }
  const open = await openBlock(change, parts, new Date(now))
  const status = open ?? (await findProposal(versions, base, (await propose(versions, base, wanted, signer)).number))
  const needs = (await needsOfProposal(versions, base, status, resources)).unmet.map(needSentence)
  const version = needs.length > 0 ? undefined : await publishProposal(signed, base, status, resources)
  return { proposal: status.number, made: !open, needs, version }
}

/** A proposal that changes nothing else, and may be published as soon as it has its approvals. */
async function openBlock(
  { id, edit }: BlockChange,
  { signed: { versions }, base }: ProposalParts,
  now: Date,
): Promise<ProposalStatus | undefined> {
  const othersIn = (source: SourceFile) => [...parseBlocked(source).values()].filter((one) => one.id !== id)
  const others = othersIn(base.policy.blockedFile)
  const isOfBlocks = ({ signed }: StoredProposal) => {
    const claimed = claimedProposal(signed)
    return claimed?.digest === base.version.digest && claimed.notBefore === undefined
  }
  for (const status of await readProposals(versions, base, isOfBlocks)) {
    const isSame = async () => {
      const { texts } = await wholeProposal(versions, base, status)
      const source = { name: BLOCKED_FILE, text: texts.get(BLOCKED_FILE) ?? '' }
      return edit(source, now) === undefined && isDeepStrictEqual(othersIn(source), others)
    }
    // Faulty files of somebody's proposal hold up no block.
    if (status.state === 'open' && (await orFaults(isSame, () => false))) return status
  }
  return undefined
}
