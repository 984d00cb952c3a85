/** A key, or what is to be done with it, that can't be. Its message is one sentence that says what to do. */
export class KeyError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'KeyError'
  }
}
