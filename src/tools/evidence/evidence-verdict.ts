/** What `evidence verify` found, for people and for programs. */
import { printable } from '../../present/quote.ts'
import type { DecidedAll } from './decide-all.ts'
import { type EvidenceVerdict, isSound, type VerifiedLog } from './verify-evidence.ts'

/** One line if all is well. */
export function evidenceText(verdict: EvidenceVerdict): string {
  const { faults, lacks, decided } = verdict
  const lines = [
    ...faults.map((fault) => `not as it was written: ${fault}`),
    ...lacks.map((lack) => `not complete: ${lack}`),
    ...(decided ? [decidedText(verdict, decided)] : []),
  ]
  return `${lines.map(printable).join('\n')}\n`
}

function decidedText(verdict: EvidenceVerdict, { same, different, first, undecided, unknown }: DecidedAll): string {
  const said = verdict.manifest?.policy === 'folder' ? 'the policy' : 'the signed policy'
  const when = `(${verdict.period})`
  const open = [...undecided.values(), ...unknown.values()].reduce((sum, one) => sum + one, 0)
  const sum = same + different + open
  const all = `${number(sum)} ${sum === 1 ? 'decision' : 'decisions'}`
  if (first) {
    const { requestId, time, was, becomes, revision, question } = first
    const what = question === undefined ? requestId : `${requestId}, question ${question},`
    return `${all}, ${number(different)} not as ${said} says ${when}; the first: ${time} ${what} was ${was}, and revision ${revision} says ${becomes}`
  }
  if (isSound(verdict) && open === 0) return `${all}, all as ${said} says ${when}`
  return `${all}, ${number(same)} as ${said} says, ${number(open)} not decided again ${when}`
}

/** What it doesn't show, and who vouches. */
export function evidenceNotes({ logs, decided, manifest }: EvidenceVerdict): readonly string[] {
  return [
    ...(manifest?.policy === 'folder' ? ['the policy is of a folder, and nobody has signed it'] : []),
    ...logs.flatMap(logNotes),
    ...[...(decided?.undecided ?? [])].map(([why, times]) => `${number(times)} not decided again: ${why}`),
    ...(decided && decided.beside > 0 ? [`${number(decided.beside)} not decided again: ${BESIDE}`] : []),
    ...(decided && decided.otherLines > 0 ? [`lines that are no records: ${number(decided.otherLines)}`] : []),
  ]
}

const BESIDE =
  'objects that requests showed, changed, deleted or named beside their own, because records hold only their ids'

function logNotes({ part, log, key, first, last, ...rest }: VerifiedLog): readonly string[] {
  const span = first ? `from record ${first.record} (${first.time}) to ${last}` : 'no record'
  const cut = `whether the last records of ${part} were left out, only a kept checkpoint tells (--checkpoint)`
  return [
    `${part} (${log}) has ${span}; its last checkpoint has signed ${number(rest.signed)}`,
    ...(rest.beginsLate ? [`${part} begins after the period does`] : []),
    ...(rest.endsEarly ? [`${part} ends before the period does`] : []),
    ...(rest.compared > 0 ? [] : [cut]),
    ...(rest.pinned
      ? []
      : [`nobody vouches for the first key of ${part}: compare ${key} with one that you kept (--key)`]),
  ]
}

export function evidenceJson(file: string, verdict: EvidenceVerdict): unknown {
  const { faults, lacks, decided, manifest, logs } = verdict
  return {
    file,
    sound: isSound(verdict),
    period: manifest?.period ?? null,
    policy: manifest?.policy ?? null,
    faults,
    lacks,
    logs,
    decisions: decided ? decisionsJson(decided) : null,
  }
}

function decisionsJson({ same, different, first, undecided, unknown, ...others }: DecidedAll): unknown {
  const { beside, unconcerned, otherLines } = others
  const open = { undecided: Object.fromEntries(undecided), unknown: Object.fromEntries(unknown) }
  return { same, different, first: first ?? null, ...open, beside, unconcerned, otherLines }
}

function number(value: number): string {
  return value.toLocaleString('en')
}
