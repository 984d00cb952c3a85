/** Where the lines of the decision log go: a file, or standard output. */

export interface Sink {
  /**
   * Hands whole lines (each with its end) to the operating system: all lines, or it throws and none is written. Where
   * it can't take back a part it throws CutShort, which says how many lines need no other try.
   */
  append(lines: string): void
  /** Resolves when what was appended survives a loss of power, as far as the sink can promise it. */
  sync(): Promise<void>
  /** Goes on in a new file where somebody moved the old one away. Throws when it can't. */
  reopen(): void
  /**
   * Looks for the records of these writes in the part of the log that was written `since` (milliseconds since the
   * epoch), and gives those that are there, as `sequence requestId`.
   */
  holds(sequences: ReadonlySet<number>, since: number): Promise<ReadonlySet<string>>
  close(): void
}
