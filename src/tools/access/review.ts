/**
 * A review of access: what a person confirms and revokes of an access report, line by line, signed with their key. The
 * signed text names the lines by their numbers, and the report by a digest of who may do what.
 */
import type { SourceFile } from '../../base/diagnostic.ts'
import { isObject } from '../../base/is-object.ts'
import { timeText } from '../../base/time.ts'
import type { Approvals } from '../../decide/policy.ts'
import { callerOfPerson } from '../../policy/parse/parse-approvals.ts'
import { type PersonSigner, readSigned, signAs } from '../../policy/published/signed-by-person.ts'
import { refuseStranger, refuseUnsigned, timeToSign } from '../approvals/proposals.ts'
import { addedLines, type LineEdit } from '../line-edit.ts'
import { ToolError } from '../load-policy.ts'
import { withCells } from '../matrix/mutate/mutants.ts'
import { isNumbers, numbersIn, numbersText } from './line-numbers.ts'
import { type AccessReport, digestOfLines, type ReviewedLine, reviewedLine } from './report.ts'

interface DecidedLine extends ReviewedLine {
  readonly decision: 'confirmed' | 'revoked' | null
}

/** The shape is docs/schemas/access-review.schema.json. */
export interface AccessReview {
  readonly by: string
  readonly key: string
  readonly time: string
  readonly reason: string | null
  /** Of the policy. */
  readonly revision: string
  /** Of the lines, whatever was decided. */
  readonly digest: string
  readonly confirmed: number
  readonly revoked: number
  readonly undecided: number
  readonly lines: readonly DecidedLine[]
  /** What would revoke it: of files, and API keys, which no line of policy.csv is about. */
  readonly revoking: { readonly edits: readonly LineEdit[]; readonly keys: readonly string[] }
  /** JWS (RFC 7515, compact). */
  readonly signed: string
}

interface Signed {
  readonly digest: string
  readonly revision: string
  /** Numbers of lines: `1-40,42`. */
  readonly confirmed: string
  readonly revoked: string
  readonly reason?: string | undefined
  readonly time: string
}

export interface AskedReview {
  readonly digest: string
  readonly confirm: string
  readonly revoke: string
  readonly reason: string | undefined
}

interface ReviewParts {
  readonly report: AccessReport
  readonly signer: PersonSigner
  readonly approvals: Approvals
  readonly policyFile: SourceFile
  /** Milliseconds since the epoch. */
  readonly now: number
}

/** Who may review; asked first, because a report can take minutes. Throws ToolError. */
export function refuseReviewer(approvals: Approvals | undefined, signer: PersonSigner): Approvals {
  if (!approvals) throw new ToolError('the policy has no approvals.yaml, so nobody can sign for it: add that file')
  refuseStranger(approvals, signer)
  return approvals
}

/** Throws ToolError for another report than that of `digest`, and for access of the reviewer's own. */
export async function signReview(parts: ReviewParts, asked: AskedReview): Promise<AccessReview> {
  const { report, signer, approvals, now } = parts
  if (report.digest !== asked.digest)
    throw new ToolError('the access has changed since that report: read a new one, and look at what is new in it')
  const by = refuseStranger(approvals, signer)
  const lines = report.rows.map(reviewedLine)
  const [confirmed, revoked] = [numbersIn(asked.confirm), numbersIn(asked.revoke)]
  refuseNumbers(lines, { confirmed, revoked, own: callerOfPerson(approvals.people, by) })
  const { reason } = asked
  if (reason !== undefined && reason.length > LONGEST_REASON)
    throw new ToolError(`--reason is longer than ${LONGEST_REASON} characters: shorten it`)
  const time = new Date(await timeToSign({ now: async () => now }, signer)).toISOString()
  const about: Signed = {
    digest: report.digest,
    revision: report.revision,
    confirmed: numbersText(confirmed),
    revoked: numbersText(revoked),
    ...(reason && { reason }),
    time,
  }
  const signed = refuseUnsigned('access review', await signAs('access review', about, signer), approvals)
  const decided = decidedLines(lines, about)
  const head = headOf(by, signer.kid, about, decided)
  return { ...head, lines: decided, revoking: revokingOf(decided, parts), signed }
}

function headOf(by: string, key: string, { time, reason, revision, digest }: Signed, lines: readonly DecidedLine[]) {
  const count = (wanted: DecidedLine['decision']) => lines.filter(({ decision }) => decision === wanted).length
  return {
    by,
    key,
    time,
    reason: reason ?? null,
    revision,
    digest,
    confirmed: count('confirmed'),
    revoked: count('revoked'),
    undecided: count(null),
  }
}

/** In characters. */
const LONGEST_REASON = 1000

interface DecidedLines {
  readonly confirmed: readonly number[]
  readonly revoked: readonly number[]
  /** The id of the reviewer as a caller. */
  readonly own: string
}

function refuseNumbers(lines: readonly ReviewedLine[], { confirmed, revoked, own }: DecidedLines): void {
  if (confirmed.length + revoked.length === 0) throw new ToolError('nothing is decided: give --confirm or --revoke')
  const last = Math.max(confirmed.at(-1) ?? 0, revoked.at(-1) ?? 0)
  if (last > lines.length) throw new ToolError(`the report has no line ${last}: it has ${lines.length}`)
  const both = new Set(confirmed).intersection(new Set(revoked))
  if (both.size > 0) throw new ToolError(`confirmed and revoked: ${numbersText([...both])}; decide for one`)
  const mine = confirmed.filter((number) => lines[number - 1]?.subject === own)
  if (mine.length > 0)
    throw new ToolError(
      `nobody confirms access of their own, as of \`${own}\` in ${numbersText(mine)}: leave it to somebody else`,
    )
}

function decidedLines(lines: readonly ReviewedLine[], { confirmed, revoked }: Signed): readonly DecidedLine[] {
  const decisions = new Map([
    ...numbersIn(confirmed).map((number) => [number, 'confirmed'] as const),
    ...numbersIn(revoked).map((number) => [number, 'revoked'] as const),
  ])
  return lines.map((line, i) => ({ ...line, decision: decisions.get(i + 1) ?? null }))
}

/** Denies, which win over each role of the person; before the comment that ends the file, if it has one. */
function revokingOf(lines: readonly DecidedLine[], { policyFile, now }: ReviewParts): AccessReview['revoking'] {
  const { ofKeys = [], ofPeople = [] } = Object.groupBy(
    lines.filter(({ decision }) => decision === 'revoked'),
    ({ key }) => (key === null ? 'ofPeople' : 'ofKeys'),
  )
  const keys = [...new Set(ofKeys.flatMap(({ key }) => key ?? []))]
  if (ofPeople.length === 0) return { edits: [], keys }
  const cases = ofPeople.flatMap(({ when, ...line }) =>
    (when.length === 0 ? ['any'] : when).map((relation) => ({ ...line, relation })),
  )
  const byLine = Map.groupBy(cases, ({ subject, resource, relation }) => JSON.stringify([subject, resource, relation]))
  const denies = [...byLine.values()].map(([first, ...more]) => {
    const { subject = '', resource = '', relation = '' } = first ?? {}
    const actions = [...new Set([first, ...more].flatMap((one) => one?.action ?? []))].join('|')
    return withCells(['p', `user:${subject}`, resource, actions, relation, '*', 'deny'])
  })
  const added = [`# Revoked in the access review of ${timeText(now).slice(0, 10)}.`, ...denies]
  return { edits: [addedLines(policyFile, added)], keys }
}

// ---- Verification ---------------------------------------------------------------------------------------------------

/** Who signed the review in a file, and what of it they decided. Throws ToolError for a review that isn't valid. */
export function verifyReview(text: string, approvals: Approvals | undefined): Signed & { readonly by: string } {
  const review = parsed(text)
  if (!approvals) throw new ToolError('the policy has no approvals.yaml, so nobody can have signed for it')
  if (!review) throw new ToolError('it is not a review of access: name a file that `access review` has made')
  const read = readSigned('access review', review.signed, approvals)
  if (!read || !isSigned(read.said)) throw new ToolError('nobody in approvals.yaml has signed it')
  const { by, said } = read
  const decided = decidedLines(review.lines, said)
  const head = headOf(by, read.kid, said, decided)
  const differs = Object.entries(head).find(([name, value]) => review[name] !== value)?.[0]
  if (differs !== undefined) throw new ToolError(`\`${by}\` signed another \`${differs}\` than the file has`)
  if (digestOfLines(review.lines) !== said.digest) throw new ToolError(`\`${by}\` signed other lines than the file has`)
  if (review.lines.some(({ decision }, i) => decision !== decided[i]?.decision))
    throw new ToolError(`\`${by}\` signed other decisions than the file has`)
  return { ...said, by }
}

type FileOfReview = Readonly<Record<string, unknown>> & Pick<AccessReview, 'signed' | 'lines'>

function parsed(text: string): FileOfReview | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (!isObject(value) || typeof value.signed !== 'string' || !Array.isArray(value.lines)) return undefined
    const isWhole = value.lines.every(isObject)
    return isWhole ? { ...value, signed: value.signed, lines: value.lines as readonly DecidedLine[] } : undefined
  } catch {
    return undefined
  }
}

function isSigned(value: unknown): value is Signed {
  if (!isObject(value)) return false
  const { digest, revision, confirmed, revoked, reason = '', time } = value
  return (
    [digest, revision, reason, time].every((one) => typeof one === 'string') &&
    [confirmed, revoked].every((one) => one === '' || isNumbers(one))
  )
}
