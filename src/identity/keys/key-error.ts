/**
 * A key that can't be used, or an operation on it that isn't possible. Its message is one sentence that says what to
 * do, and `fix` is the command for it (src/base/problems/fix.ts).
 */
export class KeyError extends Error {
  readonly fix: string | undefined
  constructor(message: string, fix?: string) {
    super(message)
    this.name = 'KeyError'
    this.fix = fix
  }
}
