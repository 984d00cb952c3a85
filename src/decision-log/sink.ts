/** The target of the decision log's lines: a file, or standard output. */

export interface Sink {
  /**
   * Passes whole lines (each with its end) to the operating system: all lines, or it throws and none is written. If it
   * can't remove a part again, it throws CutShort, which says how many lines must not be tried again.
   */
  append(lines: string): void
  /** Resolves when the appended lines survive a loss of power, as far as the sink can promise it. */
  sync(): Promise<void>
  /** Continues in a new file if the old one was moved away. Throws if it can't. */
  reopen(): void
  /**
   * Looks for the records of these writes in the part of the log that was written `since` (milliseconds since the
   * epoch), and returns those that it finds, as `sequence requestId`.
   */
  holds(sequences: ReadonlySet<number>, since: number): Promise<ReadonlySet<string>>
  close(): void
}
