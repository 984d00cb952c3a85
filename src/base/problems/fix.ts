/**
 * The command that fixes what an error is about: a line of a shell. In it, `sallyport` stands for this program, AGAIN
 * for the command line that failed, and `<words>` for what only the reader knows.
 */
export const AGAIN = '{again}'

/** The same error, which now names its command. */
export function withFix<E extends Error>(error: E, fix: string | undefined): E {
  return fix === undefined ? error : Object.assign(error, { fix })
}

export function fixIn(error: unknown): string | undefined {
  const { fix } = error as { readonly fix?: unknown }
  return typeof fix === 'string' ? fix : undefined
}

/** The command that failed, with another setting. */
export function againWith(name: string, value: string | number): string {
  return `${name}=${value} ${AGAIN}`
}

/** A word of a command line, for a POSIX shell. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
