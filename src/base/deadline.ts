/** Limits how long to wait for an answer. */

/**
 * Settles as `work` does, or rejects after `milliseconds`. What `work` does after that is ignored.
 *
 * A stall of this process must not count as a slow answer: after a stall in the first half of the time, the second half
 * remains to send and to be answered; an answer that arrives during a stall in the second half is read before the
 * immediate runs.
 */
export function answerWithin<T>(milliseconds: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const expire = (): void => reject(new Error(`no answer within ${milliseconds} ms`))
    const waitOn = (): void => {
      timer = setTimeout(() => setImmediate(expire), milliseconds / 2)
    }
    let timer = setTimeout(waitOn, milliseconds / 2)
    const inTime =
      <V>(settle: (value: V) => void) =>
      (value: V): void => {
        clearTimeout(timer)
        settle(value)
      }
    work.then(inTime(resolve), inTime(reject))
  })
}
