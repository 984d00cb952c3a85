/** Values that may be there already: a request waits only if it must. */

/** Continues at once if the value is already there. */
export function onceKnown<T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** All values, at once if they are already there. */
export function onceAllKnown<T>(values: readonly (T | Promise<T>)[]): readonly T[] | Promise<readonly T[]> {
  return values.some((value) => value instanceof Promise) ? Promise.all(values) : (values as readonly T[])
}

/** The result, or what `failed` makes of the error, whether it is thrown at once or later. */
export function orElse<T>(work: () => T | Promise<T>, failed: (error: unknown) => T): T | Promise<T> {
  try {
    const result = work()
    return result instanceof Promise ? result.catch(failed) : result
  } catch (error) {
    return failed(error)
  }
}
