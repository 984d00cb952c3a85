/** What a proposal means, found anew for each reader: nothing of it is taken from the database but signed files. */
import { needSentence } from '../../analysis/approvals/needs.ts'
import { FileError } from '../../base/diagnostic.ts'
import { BLOCKED_FILE } from '../../policy/policy-folder.ts'
import { namesText, printable } from '../../present/quote.ts'
import type { Resources } from '../../resources/resource.ts'
import { CHECK_FORMATS } from '../check/check-policy.ts'
import { DIFF_FORMATS } from '../diff/formats.ts'
import { orFaults } from '../load-policy.ts'
import { describePlan } from '../release/carry-out.ts'
import { relocated } from '../release/plan.ts'
import type { SignedVersions } from '../release/published-versions.ts'
import { withTemporaryFiles } from '../temporary-files.ts'
import { type EvidenceWanted, gatherEvidence, type ToldEvidence } from './evidence.ts'
import { type NeedsOfProposal, needsOfProposal, type ProposalBase, type ProposalStatus } from './proposals.ts'
import { planOf } from './propose-folder.ts'
import { lostSince } from './uncounted.ts'

interface ReviewedNeed {
  readonly sentence: string
  /** How many people are still missing. */
  readonly missing: number
  /** Who may still approve for it. */
  readonly open: readonly string[]
}

interface ReviewedBase {
  readonly signed: SignedVersions
  readonly base: ProposalBase
  readonly resources: Resources
  readonly schemas: string
}

export interface Review extends ToldEvidence {
  /** A server would refuse its files. */
  readonly isFaulty: boolean
}

/** Throws ToolError for a proposal that nobody of the approvals.yaml in force has signed. */
export async function reviewProposal(
  parts: ReviewedBase,
  status: ProposalStatus,
  wanted: EvidenceWanted,
): Promise<Review> {
  const { signed, base, resources } = parts
  const found = await orFaults<NeedsOfProposal, FileError>(
    () => needsOfProposal(signed.versions, base, status, resources),
    (faults) => faults,
  )
  const lost = await lostSince({ ...parts, needs: found instanceof FileError ? undefined : found.needs }, status)
  const { json, text, isFaulty } =
    found instanceof FileError ? faultyReview(found, status) : await soundReview(parts, status, wanted, found)
  return { json: { ...json, ...lost.json }, text: `${text}${saidText(status)}${lost.text}`, isFaulty }
}

async function soundReview(
  { signed: { versions }, base, resources, schemas }: ReviewedBase,
  { number, state }: ProposalStatus,
  wanted: EvidenceWanted,
  { needs, unmet, after }: NeedsOfProposal,
): Promise<Review> {
  const texts = Object.entries(after.files).map(([name, { text }]) => [name, text] as const)
  const now = await versions.now()
  const beforeName = `version ${base.number}`
  const files = [...texts, [BLOCKED_FILE, after.blockedFile.text] as const]
  const { plan, evidence } = await withTemporaryFiles(files, async (folder) => {
    const found = await planOf(folder, base, resources, { now, name: `proposal ${number}` })
    const check = relocated(found.check, folder, folderOf(number))
    const change = { before: base.policy, after, folder, check, resources, schemas, now, beforeName }
    return { plan: { ...found, check }, evidence: await gatherEvidence(change, wanted) }
  })
  // Nobody can approve a closed proposal, and one that is published changes nothing any more.
  const isOpen = state === 'open'
  const stand = (isOpen ? needs : []).map((need) => {
    const { missing = 0, open = [] } = unmet.find((one) => one.because === need.because && one.from === need.from) ?? {}
    return { sentence: needSentence(need), missing, open }
  })
  const { findings, errors } = plan.check
  const diff = plan.diff && JSON.parse(DIFF_FORMATS.json(plan.diff))
  const described = describePlan({ ...plan, target: { name: beforeName, isEmpty: false } })
  const text = `${described}${evidence.text}\n${isOpen ? needsText(stand) : ''}`
  return { json: { needs: stand, findings, diff, ...evidence.json }, text, isFaulty: errors > 0 }
}

/** As a reader may write it: `policy export proposal-1 --proposal 1`. */
function folderOf(number: number): string {
  return `proposal-${number}`
}

function faultyReview({ diagnostics, more }: FileError, { number }: ProposalStatus): Review {
  const findings = diagnostics.map((one) => ({ ...one, file: one.file.replace(/^database:\d+/, folderOf(number)) }))
  const errors = findings.length + more
  const check = { findings, errors, more, warnings: 0, suppressed: 0, sources: new Map() }
  const notRun = 'no server takes these files'
  const json = { findings, guarantees: [], matrices: { notRun }, replay: { notRun } }
  return { json, text: `${CHECK_FORMATS.text(check)}Nothing else was run: ${notRun}.\n`, isFaulty: true }
}

function needsText(needs: readonly ReviewedNeed[]): string {
  if (needs.length === 0) return 'Nobody else must approve it.\n'
  const lines = needs.map(({ sentence, missing, open }) => {
    const may = open.length === 0 ? 'nobody is left who may' : `${namesText(open, ' or ')} may`
    return `  ${printable(sentence)}: ${missing === 0 ? 'done' : `${missing} missing, ${may}`}\n`
  })
  return `It needs the approval of\n${lines.join('')}`
}

function saidText({ approvals }: ProposalStatus): string {
  const lines = approvals.map(({ by, said: { says, time, reason } }) => {
    return `  ${says} by \`${by}\`, ${time}${reason === undefined ? '' : printable(`: ${reason}`)}\n`
  })
  return lines.length === 0 ? '' : `\n${lines.join('')}`
}
