/** What `decisions verify` found, for people and for programs. */

import { keyText, type VerifierKey } from '../../decision-log/tree/signed-note.ts'
import { count } from '../../present/text.ts'
import type { SignedCheckpoint, SignedHistory } from './signed-history.ts'
import type { LogFault, LogVerdict } from './verify-log.ts'

export function verdictText(
  { whole, first, newer, newest, faults }: LogVerdict,
  history: SignedHistory,
  pinned: VerifierKey | undefined,
): string {
  const lines = [
    ...faults.map((fault) => faultText(fault, history.checkpoints)),
    `${faults.length === 0 ? 'whole' : 'not whole'}: ${count(whole, 'record')} as signed`,
  ]
  if (first !== undefined && first > 0)
    lines.push(`  the log begins with record ${first}: those before it are in none of these files`)
  if (newer > 0)
    lines.push(`  ${count(newer, 'line')} newer than the last checkpoint, which nothing is signed about yet`)
  lines.push(
    `signed by ${history.origin}, ${count(history.keys.length, 'key')}; ${newest ? checkpointName(newest) : 'no checkpoint yet'}`,
  )
  if (!pinned) lines.push('  nobody vouches for its first key: compare with one that you kept elsewhere (--key)')
  return `${lines.join('\n')}\n`
}

export function verdictJson(
  { whole, first, newer, newest, faults }: LogVerdict,
  { origin, keys, checkpoints }: SignedHistory,
  pinned: VerifierKey | undefined,
): unknown {
  return {
    log: origin,
    whole: faults.length === 0,
    records: whole,
    first: first ?? null,
    newer,
    newest: newest ? { time: newest.time, size: newest.size } : null,
    keys: keys.map(keyText),
    pinned: pinned ? keyText(pinned) : null,
    faults: faults.map((fault) => ({ ...faultJson(fault), text: faultText(fault, checkpoints) })),
  }
}

function faultJson(fault: LogFault): object {
  if (fault.kind !== 'rewritten') return fault
  const { time, size } = fault.checkpoint
  return { kind: fault.kind, checkpoint: { time, size } }
}

function faultText(fault: LogFault, checkpoints: readonly SignedCheckpoint[]): string {
  switch (fault.kind) {
    case 'changed':
      return `${fault.place}: changed: this isn't record ${fault.record} as it was signed, ${between(fault.record, checkpoints)}`
    case 'added':
      return `${fault.place}: added: nobody signed this line`
    case 'missing': {
      const which = fault.from === fault.to ? `record ${fault.from}` : `records ${fault.from} to ${fault.to}`
      return `missing: ${which}, ${fault.isEnd ? 'the end of what was signed' : between(fault.from, checkpoints)}`
    }
    case 'rewritten':
      return `rewritten: the newest checkpoint says otherwise about the records that the one of ${checkpointName(fault.checkpoint)} signed`
    case 'tile':
      return `${fault.path}: damaged: restore it from a copy of the tree`
    case 'unsigned':
      return `checkpoints:${fault.line}: no key of the log signed this line, or it is damaged`
  }
}

function between(record: number, checkpoints: readonly SignedCheckpoint[]): string {
  const after = checkpoints.find(({ size }) => size > record)
  const before = checkpoints.findLast(({ size }) => size <= record)
  return `between ${before ? checkpointName(before) : 'the beginning'} and ${after ? checkpointName(after) : 'the end'}`
}

function checkpointName({ time, size }: SignedCheckpoint): string {
  return `the checkpoint of ${time} (${size})`
}
