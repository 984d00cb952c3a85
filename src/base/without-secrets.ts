/** Names a value of a setting in a message: somebody may have given a key or a password in its place. */

/**
 * Omits the user and the password of a URL, however it is written, the query, the text of a key, and whatever is as long
 * as a key or a token and has digits.
 */
export function withoutSecrets(value: string): string {
  return value
    .replace(/^.*@/s, '…@')
    .replace(/(?:-----BEGIN|[{?]).*$/s, '…')
    .replace(/(?=[\w+=]*\d)[\w+=]{24,}/g, '…')
    .replace(/[\w+/=-]*…[\w+/=-]*/g, '…')
}
