/** What a server and the process that answers its questions say to each other. */
import type { Variables } from '../../base/command-process.ts'

export interface ToProcess {
  readonly argv: readonly string[]
  readonly env: Variables
  /** In characters of the output. */
  readonly most: number
}

export interface FromProcess {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
  /** There was more output than may be. */
  readonly isCut: boolean
}
