/** Names and texts that stand in statements, for all engines. Values are bound, never written into the text. */

/** A name of a table, a column or an index. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** A text where nothing can be bound, such as in an index. */
export function quoteLiteral(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** No other text may be stored as an id or a subject: it would come back as another one, perhaps as somebody else's. */
export function wellFormed(text: string): string {
  if (!text.isWellFormed()) throw new Error('an id or a subject must be well-formed Unicode')
  return text
}

/** The columns of the fields outside the document: texts, which are never missing. */
export const SERVER_COLUMNS: ReadonlyMap<string, string> = new Map([
  ['id', 'id'],
  ['createdAt', 'created_at'],
  ['updatedAt', 'updated_at'],
])
