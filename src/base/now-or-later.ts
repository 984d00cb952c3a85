/** Goes on at once with a value that is there, so that a request waits only where something has to be waited for. */
export function onceKnown<T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value)
}
