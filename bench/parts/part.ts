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
  /** Undefined when no folder of peers was given. */
  readonly peers: Peers | undefined
  /** The folder of packages/client/interop, with its packages; undefined when none was given. */
  readonly interop: string | undefined
  /** Progress, for whoever waits. */
  tell(text: string): void
}

export interface Part {
  readonly id: string
  measure(bench: Bench): Promise<PartResult>
}

export const NO_PEERS = 'the peers, because no folder of them was given (`--peers`; bench/README.md)'
