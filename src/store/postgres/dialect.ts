/** PostgreSQL's dialect. */
import type { SqlDialect } from '../sql/statement.ts'
import { keyOf, LIST } from './layout/keys.ts'
import { decodeText, encodeText } from './stored-text.ts'

/** The clock of the moment, or of the start of a statement: only the latter lets an index be used. */
const [NOW, STATEMENT_NOW] = ['clock_timestamp', 'statement_timestamp'].map((clock) => {
  return `(extract(epoch from ${clock}()) * 1000)::bigint`
})

export const DIALECT: SqlDialect = {
  number: 'bigint',
  key: 'text collate "C"',
  flag: 'boolean',
  bytes: 'bytea',
  outboxNumber: 'bigint generated always as identity primary key',
  hasOneClock: false,
  leaseMark: 'renewals',
  strict: '',
  now: NOW ?? '',
  greatest: 'greatest',
  least: 'least',
  // An instance whose clock is ahead must not delete what others still need.
  endedBy: (now) => `least(${now}::bigint, ${STATEMENT_NOW})`,
  tables: 'select table_name as name from information_schema.tables where table_schema = current_schema()',
  elements: (list) => `jsonb_array_elements(${list}::jsonb)`,
  hasRole: (roles) => ({
    test: `u.keys -> 'roles' ->> 0 = '${LIST}' and exists (
      select 1 from jsonb_array_elements($1::jsonb) as s where u.keys -> 'roles' @> s.value)`,
    value: JSON.stringify(roles.map(keyOf)),
  }),
  text: encodeText,
  sought: encodeText,
  fromStored: (stored) => decodeText(String(stored)),
}
