/** What an instance tells about the published version that it has in force. */
import { isObject } from '../../base/is-object.ts'

export interface InstanceState {
  /** All versions up to this number are in force. */
  readonly sequence: number
  readonly revision: string
  /** Why a later version isn't in force, a sentence each. */
  readonly faults: readonly string[]
}

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
