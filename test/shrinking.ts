/**
 * A random property that fails is reported before its test times out: from a deadline on, its counterexample isn't made
 * smaller any more. A property that holds draws all its inputs, however long they take.
 */
import fc from 'fast-check'

/** `deadline`: in milliseconds since the epoch. An input that was begun before is run to its end. */
export function boundShrinking<T = unknown>(deadline: () => number): fc.Plugin<T> {
  return () => {
    let failed = false
    const note = <T>(outcome: T): T => {
      failed ||= outcome !== null && !fc.PreconditionFailure.isFailure(outcome)
      return outcome
    }
    return {
      decorateRun: (run) => (value) => {
        if (failed && Date.now() >= deadline()) return new fc.PreconditionFailure(true) as never
        const outcome: unknown = run(value)
        return (outcome instanceof Promise ? outcome.then(note) : note(outcome)) as never
      },
    }
  }
}
