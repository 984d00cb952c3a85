/** What `decisions verify` found, for people and for programs. */

import type { SignedCheckpoint, SignedHistory } from '../../decision-log/tree/signed-history.ts'
import { keyText, type VerifierKey } from '../../decision-log/tree/signed-note.ts'
import { count } from '../../present/text.ts'
import type { OutsideCheckpoint } from './tree-of-log.ts'
import type { LogFault, LogVerdict } from './verify-log.ts'

interface Vouching {
  readonly pinned: VerifierKey | undefined
  /** The checkpoints of other places that were compared. */
  readonly outside: readonly OutsideCheckpoint[]
}

export function verdictText(
  { whole, erased, first, newer, newest, faults }: LogVerdict,
  history: SignedHistory,
  { pinned, outside }: Vouching,
): string {
  const lines = [
    ...faults.map((fault) => faultText(fault, history.checkpoints)),
    `${faults.length === 0 ? 'whole' : 'not whole'}: ${count(whole, 'record')} as signed`,
  ]
  if (erased > 0) lines.push(`  ${count(erased, 'record')} among them with erased parts (\`decisions erase\`)`)
  if (first !== undefined && first > 0)
    lines.push(`  the log begins with record ${first}: those before it are in none of these files`)
  if (newer > 0)
    lines.push(`  ${count(newer, 'line')} newer than the last checkpoint, which nothing is signed about yet`)
  lines.push(
    `signed by ${history.origin}, ${count(history.keys.length, 'key')}; ${newest ? checkpointName(newest) : 'no checkpoint yet'}`,
  )
  if (!pinned) lines.push('  nobody vouches for its first key: compare with one that you kept elsewhere (--key)')
  for (const { place, size } of outside) lines.push(`  compared with the checkpoint of ${place} (${size})`)
  if (outside.length === 0)
    lines.push('  compared with no checkpoint of another place: if the tree was cut with its log, nobody sees it here')
  return `${lines.join('\n')}\n`
}

export function verdictJson(
  { whole, erased, first, newer, newest, faults }: LogVerdict,
  { origin, keys, checkpoints }: SignedHistory,
  { pinned, outside }: Vouching,
): unknown {
  return {
    log: origin,
    whole: faults.length === 0,
    records: whole,
    erased,
    first: first ?? null,
    newer,
    newest: newest ? { time: newest.time, size: newest.size } : null,
    keys: keys.map(keyText),
    pinned: pinned ? keyText(pinned) : null,
    compared: outside.map(({ place, size }) => ({ place, size })),
    faults: faults.map((fault) => ({ ...faultJson(fault), text: faultText(fault, checkpoints) })),
  }
}

function faultJson(fault: LogFault): object {
  if (!('checkpoint' in fault)) return fault
  const { kind, checkpoint } = fault
  const { size } = checkpoint
  return {
    kind,
    checkpoint: 'place' in checkpoint ? { place: checkpoint.place, size } : { time: checkpoint.time, size },
  }
}

export function faultText(fault: LogFault, checkpoints: readonly SignedCheckpoint[]): string {
  switch (fault.kind) {
    case 'changed':
      return `${fault.place}: changed: this isn't record ${fault.record} as it was signed, ${between(fault.record, checkpoints)}`
    case 'added':
      return `${fault.place}: added: nobody signed this line`
    case 'missing': {
      const which = fault.from === fault.to ? `record ${fault.from}` : `records ${fault.from} to ${fault.to}`
      return `missing: ${which}, ${fault.isEnd ? 'the last that were signed' : between(fault.from, checkpoints)}`
    }
    case 'cut':
      return `cut: ${fault.checkpoint.place} has a checkpoint of ${count(fault.checkpoint.size, 'record')}, and the tree has fewer: the log was cut with its tree, or both are an older copy`
    case 'rewritten':
      return `rewritten: the tree says otherwise about the records that ${checkpointName(fault.checkpoint)} signed`
    case 'tile':
      return `${fault.path}: damaged, so no record was compared: restore it from a copy of the tree`
    case 'half-erased':
      return `${fault.place}: an erasure was stopped before its end, or somebody wrote in an erased part: run the \`decisions erase\` again`
    case 'stopped':
      return `stopped: too many faults; nothing from record ${fault.record} on was compared`
    case 'unsigned':
      return `checkpoints:${fault.line}: no key of the log signed this line, or it is damaged`
  }
}

function between(record: number, checkpoints: readonly SignedCheckpoint[]): string {
  const after = checkpoints.find(({ size }) => size > record)
  const before = checkpoints.findLast(({ size }) => size <= record)
  return `between ${before ? checkpointName(before) : 'the beginning'} and ${after ? checkpointName(after) : 'the end'}`
}

function checkpointName(checkpoint: SignedCheckpoint | OutsideCheckpoint): string {
  const { size } = checkpoint
  return 'place' in checkpoint
    ? `the checkpoint of ${checkpoint.place} (${size})`
    : `the checkpoint of ${checkpoint.time} (${size})`
}
