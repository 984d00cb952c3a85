/** A bound on how long an answer is waited for. */

/**
 * Settles as `work` does, or rejects after `milliseconds`. What `work` does after that is ignored.
 *
 * A stall of this process is no fault of who answers: after a stall in the first half there is the second to send and
 * be answered, and what has arrived during a stall in the second half is read before the immediate runs.
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
