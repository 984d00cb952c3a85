/** Names, texts and parameters in the text of a statement. Values are bound, never written into the text. */

/** A name of a table, a column or an index. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** A text in the expression of a generated column, where nothing can be bound. */
export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

export function parameters(count: number): string {
  return Array(count).fill('?').join(', ')
}

/** Other text would be bound with U+FFFD in it, and could match the row of somebody else. */
export function wellFormed(text: string): string {
  if (!text.isWellFormed()) throw new Error('an id or a subject must be well-formed Unicode')
  return text
}
