/** What `data check` finds: stable codes, and what to do about each. docs/data.md lists them. */

export const DATA_CODES = {
  'document-not-json': 'restore the row from a backup, or delete it in the database',
  'document-not-object': 'restore the row from a backup, or delete it in the database',
  'document-name-twice': 'write the object again with PUT, or keep one of the members in the database',
  'version-invalid': 'set the version of the row to a whole number from 1 on in the database',
  'schema-misfit': 'migrate the objects, or let the schema accept them',
  'reference-dangling': 'let the field name an object that exists, or remove the value',
  'user-missing': 'add the user, or give the object to a user that exists',
  'value-shared': 'give the objects different values, or remove `x-unique`',
  'index-disagrees': 'write the object again, for example with a PATCH that changes a field',
  'index-broken': 'stop the server, and let the engine make the index again (docs/data.md)',
  'schema-gone': 'bring the schema back, or delete the objects in the database',
} as const

export type DataCode = keyof typeof DATA_CODES
