/** The columns of the fields outside the document: texts, which are never missing. */
export const SERVER_COLUMNS: ReadonlyMap<string, string> = new Map([
  ['id', 'id'],
  ['createdAt', 'created_at'],
  ['updatedAt', 'updated_at'],
])
