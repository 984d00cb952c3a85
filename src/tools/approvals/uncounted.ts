/** Signatures that stand beside a proposal and don't count, each with the reason, and what has changed since it was made. */
import { type FoundNeed, unmetNeeds } from '../../analysis/approvals/needs.ts'
import { approvalsOf } from '../../policy/parse/parse-approvals.ts'
import { type Approval, readApproval } from '../../policy/published/proposal.ts'
import type { SignedBy } from '../../policy/published/signed-by-person.ts'
import type { PublishedVersion } from '../../policy/published/signed-version.ts'
import { readingIn } from '../../policy/published/version-chain.ts'
import { printable } from '../../present/quote.ts'
import type { Resources } from '../../resources/resource.ts'
import { orFaults } from '../load-policy.ts'
import { type SignedVersions, verifiedHistory } from '../release/published-versions.ts'
import type { ToldEvidence } from './evidence.ts'
import { isInTime, type ProposalBase, type ProposalStatus } from './proposals.ts'

interface JudgedBase {
  readonly signed: SignedVersions
  readonly base: ProposalBase
  readonly resources: Resources
  /** Undefined for files with faults. */
  readonly needs: readonly FoundNeed[] | undefined
}

/** Of one that is open, or void; nothing counts for others. */
export async function lostSince(judging: JudgedBase, status: ProposalStatus): Promise<ToldEvidence> {
  const { state, proposal } = status
  if (!proposal || (state !== 'open' && state !== 'void')) return { json: { uncounted: [], since: null }, text: '' }
  const { number } = proposal.said.base
  const versions = state === 'void' ? (await verifiedHistory(judging.signed)).versions : []
  const changed = versions.find((one) => one.number === number)
  const known = status.approvals.flatMap((one) => {
    const why = whyNot(one, status, judging)
    return why === undefined ? [] : [{ one, why }]
  })
  const uncounted = [...known, ...(await strangersIn(judging, status, changed))]
  const later = versions.filter((one) => one.number > number)
  const files = changedFiles(changed, judging.base.version)
  const json = {
    uncounted: uncounted.map(({ one, why }) => {
      const { says = null, time = null } = one?.said ?? {}
      return { by: one?.by ?? null, key: one?.kid ?? null, says, time, why }
    }),
    since: state === 'open' ? null : { versions: later.map(versionJson), files },
  }
  const signatures = uncounted.map(({ one, why }) => {
    return `  ${one ? `${one.said.says} by \`${one.by}\`, ${one.said.time}` : 'a signature'}: ${why}`
  })
  const changes = later.map(
    ({ number, time, user, reason = '' }) => `  version ${number} by ${user}, ${time}: ${reason}`,
  )
  const lines = [
    ...(signatures.length === 0 ? [] : ['', "These signatures don't count:", ...signatures]),
    ...(state === 'open' ? [] : ['', 'Since it was proposed:', ...changes, `  changed files: ${files.join(', ')}`]),
  ]
  return { json, text: lines.map((line) => `${printable(line)}\n`).join('') }
}

function whyNot(
  one: SignedBy<Approval>,
  { state, proposal, approvals }: ProposalStatus,
  { base, needs }: JudgedBase,
): string | undefined {
  const { by } = one
  const author = proposal?.by ?? ''
  if (state === 'void') return `version ${base.number} is in force now`
  if (by === author) return 'nobody approves a change of their own'
  if (!isInTime(one, proposal)) return 'it is from after the end of the proposal'
  if (approvals.find((other) => other.by === by) !== one) return `\`${by}\` has approved already`
  if (!needs) return undefined
  const asked = unmetNeeds(needs, base.approvals, { author, approved: [] }).flatMap(({ open }) => open)
  return asked.includes(by) ? undefined : `no need of it asks for \`${by}\``
}

/** Those of nobody in the approvals.yaml in force. `changed`: the version that a void proposal changes. */
async function strangersIn(
  { signed: { versions }, base, resources }: JudgedBase,
  { number, signed: proposal }: ProposalStatus,
  changed: PublishedVersion | undefined,
) {
  const former = await orFaults(
    async () => changed && approvalsOf((await readingIn(changed, versions)).files(), resources),
    () => undefined,
  )
  const texts = await versions.signaturesOf(number)
  const strange = texts.filter((text) => !readApproval(text, { proposal, approvals: base.approvals }))
  return strange.map((text) => {
    const one = former && readApproval(text, { proposal, approvals: former })
    if (one) return { one, why: `the key of \`${one.by}\` is not in approvals.yaml any more` }
    const why = 'nobody of approvals.yaml has signed it for this proposal, or it was changed afterwards'
    return { one: undefined, why }
  })
}

function changedFiles(before: PublishedVersion | undefined, now: PublishedVersion): readonly string[] {
  const names = new Set([...Object.keys(before?.files ?? {}), ...Object.keys(now.files)])
  return [...names].filter((name) => before?.files[name] !== now.files[name]).sort()
}

function versionJson({ number, time, user, reason = '' }: PublishedVersion) {
  return { number, time, by: user, title: reason }
}
