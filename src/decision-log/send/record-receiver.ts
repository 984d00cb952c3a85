/** How records reach another system: the promise that each way of sending keeps. */

export interface SendPlace {
  readonly kind: 'lines' | 'otlp' | 'syslog'
  /** Of the scheme `https`, `http` or `tls`. */
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly tls: TlsFiles
}

/** PEM. */
export interface TlsFiles {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

export interface RecordReceiver {
  /**
   * Resolves with the number of lines that the other system has refused for good; all others are its own now. Rejects
   * with BatchRefused, or with whatever kept it from taking them.
   */
  send(lines: readonly string[], signal: AbortSignal): Promise<{ readonly refused: number }>
  /** Throws if lines that were sent may be lost, because the other system has gone since. */
  check(): void
  /** Milliseconds after which lines that were sent are there, if nothing was heard meanwhile; 0 if it answers. */
  readonly settlesInMs: number
  /** Ends its connections; the next `send` makes new ones. */
  close(): void
}

/** The other system wants none of these lines as they are: one of them may be the cause. */
export class BatchRefused extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'BatchRefused'
  }
}

/** It takes nothing at the moment. */
export class NotTaken extends Error {
  /** How long it wants to be left alone. */
  readonly againInMs: number
  constructor(message: string, againInMs = 0) {
    super(message)
    this.name = 'NotTaken'
    this.againInMs = againInMs
  }
}
