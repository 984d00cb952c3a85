/** Where the lines of the decision log go: a file, or standard output. */

export interface Sink {
  /**
   * Hands whole lines (each with its end) to the operating system: all of them, or it throws and none is there. Where what was
   * written can't be taken back it throws CutShort, which says how many lines need no other try.
   */
  append(lines: string): void
  /** Resolves when what was appended survives a loss of power, as far as the sink can promise it. */
  sync(): Promise<void>
  /** Goes on in a new file where somebody moved the old one away. Throws when it can't. */
  reopen(): void
  /**
   * The records of writes that are in the log's end, as `sequence requestId`; those of `sequences` are looked for, in what was
   * written `since` (milliseconds since the epoch).
   */
  holds(sequences: ReadonlySet<number>, since: number): Promise<ReadonlySet<string>>
  close(): void
}
