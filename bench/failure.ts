/** What keeps the bench from measuring; its message is one sentence that says what to do. */
export class BenchFailure extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'BenchFailure'
  }
}
