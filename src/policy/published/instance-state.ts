/** What an instance tells about the published version that it has in force. */
import { isObject } from '../../base/is-object.ts'

export interface InstanceState {
  /** All versions up to this number are in force. */
  readonly sequence: number
  readonly revision: string
  /** Why a later version isn't in force, a sentence each. */
  readonly faults: readonly string[]
}

/** An instance tells its state every five seconds; without a word for so long, it has ended or has lost the database. */
export const SILENT_AFTER_MS = 15_000

/** Undefined for a text that no instance wrote. */
export function readInstanceState(text: string): InstanceState | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (!isObject(value)) return undefined
    const { sequence, revision, faults } = value
    const isState = Number.isSafeInteger(sequence) && typeof revision === 'string' && Array.isArray(faults)
    return isState ? { sequence: Number(sequence), revision, faults: faults.map(String) } : undefined
  } catch {
    return undefined
  }
}
