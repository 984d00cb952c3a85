/** What a part of the bench is given, and gives back. */
import type { Fixtures } from '../fixture/fixtures.ts'
import type { Peers } from '../peers.ts'
import type { PartResult } from '../report/result.ts'

interface Settings {
  readonly rounds: number
  /** Of load, each time. */
  readonly seconds: number
  /** Sizes that only try the bench out; their figures mean nothing. */
  readonly small: boolean
}

export interface Bench {
  readonly settings: Settings
  readonly fixtures: Fixtures
  /** Undefined when their packages aren't there. */
  readonly peers: Peers | undefined
  /** Why there are no peers, or nothing. */
  readonly withoutPeers: readonly string[]
  /** Progress, for whoever waits. */
  tell(text: string): void
}

export interface Part {
  readonly id: string
  measure(bench: Bench): Promise<PartResult>
}
