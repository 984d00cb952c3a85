/**
 * Sends the answers of one turn of the event loop together, after one write of all their decision records: a waiting
 * peer wakes up once for all of them, which is cheaper than once for each (docs/decisions/0081).
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
