/**
 * Answers of one turn of the event loop leave together, after the one write of their decision records: a peer that waits is
 * woken once for all of them, which costs less than to be woken for each (docs/decisions/0026).
 */

/** Resolves when the requests that came in this turn have been handled as far as they need not wait. */
export type EndOfTurn = () => Promise<void>

export function createEndOfTurn(): EndOfTurn {
  let end: Promise<void> | undefined
  return () => {
    end ??= new Promise((resolve) => {
      setImmediate(() => {
        end = undefined
        resolve()
      })
    })
    return end
  }
}
