/** A bound on how long an answer is waited for. */

/** Settles as `work` does, or rejects after `milliseconds`. What `work` does after that is ignored. */
export function answerWithin<T>(milliseconds: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const expire = (): void => reject(new Error(`no answer within ${milliseconds} ms`))
    // An answer may have arrived while this process was busy: it is read before the immediate runs.
    const timer = setTimeout(() => setImmediate(expire), milliseconds)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
