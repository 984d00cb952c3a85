/** Whether a change has the approvals that the version before it asks for: each instance judges for itself. */
import type { Approvals } from '../../decide/policy.ts'
import { approvalsOf } from '../../policy/parse/parse-approvals.ts'
import { type PolicyProposal, readApproval, readProposal } from '../../policy/published/proposal.ts'
import type { SignedBy } from '../../policy/published/signed-by-person.ts'
import { digestOfText, type SignedByPeople, type SignedName } from '../../policy/published/signed-version.ts'
import type { ApprovedChange } from '../../policy/published/version-chain.ts'
import { namesText } from '../../present/quote.ts'
import type { Resources } from '../../resources/resource.ts'
import { sidesOf } from '../compared-space.ts'
import { changedPolicy, hasSameRules } from './changed-policy.ts'
import { type FoundNeed, NEEDS_VERSION, needSentence, needsOf, unmetNeeds } from './needs.ts'

/** `message` is the end of a sentence: `version 7 …`. */
interface Objection {
  readonly code:
    | 'approval-signature'
    | 'approval-closed'
    | 'approval-base'
    | 'approval-missing'
    | 'approval-window'
    | 'approval-program'
  readonly message: string
  readonly hint: string
}

/** A change of blocked.txt alone is judged without its rules, so nothing waits long for it. */
export function onlyBlocks({ before, after }: Pick<ApprovedChange, 'before' | 'after'>): boolean {
  return hasSameRules(before.files(), after.files())
}

/** Who has signed a change, or why it is refused. Throws FileError for files that these schemas don't fit. */
export function judgeApproved(change: ApprovedChange, resources: Resources): Objection | SignedByPeople {
  const { approved } = change
  const approvals = approvalsOf(change.before.files(), resources)
  if (!approvals) {
    const message = 'was approved by people, but the version before it has no approvals.yaml'
    return objection('approval-base', message, 'publish it with a key of POLICY_PUBLIC_KEYS')
  }
  const proposal = readProposal(approved.proposal, approvals)
  if (!proposal) {
    const message = 'was proposed by nobody of the approvals.yaml before it, or was changed after it was signed'
    return objection('approval-signature', message, 'propose it again with a key of approvals.yaml')
  }
  const needs = () => {
    const sides = sidesOf((side) => changedPolicy(change[side].files(), change[side].blocked(), resources))
    return needsOf(sides, resources)
  }
  return objectionTo(change, proposal) ?? judgeApprovals(change, { proposal, approvals, needs })
}

function objectionTo({ number, database, base, approved }: ApprovedChange, { said }: SignedBy<PolicyProposal>) {
  if (said.database !== database || said.base.number !== number - 1 || said.base.digest !== digestOfText(base)) {
    return objection('approval-base', `was approved as a change of another version than ${number - 1}`, AGAIN)
  }
  if (said.needs !== NEEDS_VERSION) {
    const message = `was approved with a version of sallyport that counts approvals otherwise (${said.needs}, this one ${NEEDS_VERSION})`
    return objection('approval-program', message, 'run the same version of sallyport everywhere, or propose it again')
  }
  const [stored, from, until] = [approved.time, said.notBefore ?? said.time, said.expires].map((one) => Date.parse(one))
  if ((stored ?? 0) >= (from ?? 0) && (stored ?? 0) <= (until ?? 0)) return undefined
  return objection('approval-window', `was stored outside its time, which ends ${said.expires}`, AGAIN)
}

const AGAIN = 'propose the change again, on top of the version in force'

function objection(code: Objection['code'], message: string, hint: string): Objection {
  return { code, message, hint }
}

interface Judging {
  readonly proposal: SignedBy<PolicyProposal>
  readonly approvals: Approvals
  /** Asked for last: it takes long for very many rules. */
  readonly needs: () => readonly FoundNeed[]
}

function judgeApprovals(
  { approved }: ApprovedChange,
  { proposal, approvals, needs }: Judging,
): Objection | SignedByPeople {
  const read = approved.approvals.map((one) => readApproval(one, { proposal: approved.proposal, approvals }))
  const closed = read.find((one) => one && one.said.says !== 'approved')
  if (closed) return objection('approval-closed', `was ${closed.said.says} by \`${closed.by}\``, AGAIN)
  const isInTime = (time: string) => Date.parse(time) <= Date.parse(proposal.said.expires)
  const sound = read.flatMap((one) => (one && isInTime(one.said.time) ? [one] : []))
  if (sound.length < read.length) {
    const message = 'has an approval that nobody of the approvals.yaml before it has signed for it'
    const hint = 'find out who writes to the database, and publish the proposal again'
    return objection('approval-signature', message, hint)
  }
  const others = sound.filter(({ by }) => by !== proposal.by)
  const approvers = others.filter(({ by }, i) => others.findIndex((one) => one.by === by) === i)
  const approvedBy = approvers.map(({ by }) => by)
  const [missing] = unmetNeeds(needs(), approvals, { author: proposal.by, approved: approvedBy })
  if (!missing) return { author: nameOf(proposal), approvers: approvers.map(nameOf) }
  const may = missing.open.length === 0 ? 'nobody is left who may' : `${namesText(missing.open, ' or ')} may`
  const message = `lacks ${missing.missing} approval${missing.missing === 1 ? '' : 's'}: it needs ${needSentence(missing)}`
  return objection('approval-missing', message, `ask for them: ${may} approve it`)
}

function nameOf({ by, kid }: SignedBy<unknown>): SignedName {
  return { by, kid }
}
