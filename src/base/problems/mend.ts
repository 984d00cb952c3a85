/**
 * The command that mends what an error is about: a line of a shell. In it, `sallyport` stands for this program, AGAIN
 * for the command line that failed, and `<words>` for what only the reader knows.
 */
export const AGAIN = '{again}'

/** The same error, which now names its command. */
export function withMend<E extends Error>(error: E, mend: string | undefined): E {
  return mend === undefined ? error : Object.assign(error, { mend })
}

export function mendIn(error: unknown): string | undefined {
  const { mend } = error as { readonly mend?: unknown }
  return typeof mend === 'string' ? mend : undefined
}

/** The command that failed, with another setting. */
export function againWith(name: string, value: string | number): string {
  return `${name}=${value} ${AGAIN}`
}

/** A word of a command line, for a POSIX shell. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
