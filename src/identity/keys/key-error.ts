/**
 * A key that can't be used, or an operation on it that isn't possible. Its message is one sentence that says what to
 * do.
 */
export class KeyError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'KeyError'
  }
}
