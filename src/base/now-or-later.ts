/** Continues at once if the value is already there, so that a request waits only if it must. */
export function onceKnown<T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value)
}
