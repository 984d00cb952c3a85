/** What a proposal means, found anew for each reader: nothing of it is taken from the database but signed files. */
import { needSentence } from '../../analysis/approvals/needs.ts'
import { BLOCKED_FILE } from '../../policy/policy-folder.ts'
import { namesText, printable } from '../../present/quote.ts'
import type { Resources } from '../../resources/resource.ts'
import { DIFF_FORMATS } from '../diff/formats.ts'
import { describePlan } from '../release/carry-out.ts'
import { relocated } from '../release/plan.ts'
import type { SignedVersions } from '../release/published-versions.ts'
import { withTemporaryFiles } from '../temporary-files.ts'
import { type Evidence, type EvidenceWanted, evidenceOf } from './evidence.ts'
import { needsOfProposal, type ProposalBase, type ProposalStatus } from './proposals.ts'
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

/** Throws FileError for files that a server would refuse. */
export async function reviewProposal(
  { signed, base, resources, schemas }: ReviewedBase,
  status: ProposalStatus,
  wanted: EvidenceWanted,
): Promise<Evidence> {
  const { versions } = signed
  const { needs, unmet, after } = await needsOfProposal(versions, base, status, resources)
  const texts = Object.entries(after.files).map(([name, { text }]) => [name, text] as const)
  const now = await versions.now()
  const beforeName = `version ${base.number}`
  const { plan, evidence } = await withTemporaryFiles(
    [...texts, [BLOCKED_FILE, after.blockedFile.text]],
    async (folder) => {
      const found = await planOf(folder, base, resources, { now, name: `proposal ${status.number}` })
      // As the folder of `policy export proposal-1 --proposal 1`.
      const check = relocated(found.check, folder, `proposal-${status.number}`)
      const change = { before: base.policy, after, folder, check, resources, schemas, now, beforeName }
      return { plan: { ...found, check }, evidence: await evidenceOf(change, wanted) }
    },
  )
  // Nobody can approve a closed proposal, and one that is published changes nothing any more.
  const isOpen = status.state === 'open'
  const stand = (isOpen ? needs : []).map((need) => {
    const { missing = 0, open = [] } = unmet.find((one) => one.because === need.because && one.from === need.from) ?? {}
    return { sentence: needSentence(need), missing, open }
  })
  const { findings } = plan.check
  const diff = plan.diff && JSON.parse(DIFF_FORMATS.json(plan.diff))
  const described = describePlan({ ...plan, target: { name: beforeName, isEmpty: false } })
  const lost = await lostSince({ signed, base, resources, needs }, status)
  const text = `${described}${evidence.text}\n${isOpen ? needsText(stand) : ''}${saidText(status)}${lost.text}`
  return { json: { needs: stand, findings, diff, ...evidence.json, ...lost.json }, text }
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
