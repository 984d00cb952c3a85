/** Named values next to the objects: secrets that instances share, and marks that describe the data. */
import { randomBytes } from 'node:crypto'
import { StoreUnavailable } from '../errors.ts'
import { type SqlEngine, type Statement, sql } from './statement.ts'

const SECRET_BYTES = 32

/** The mark that the readiness check writes. */
export const PROBED = 'probed'

export function readSecret(name: string): Statement {
  return sql('select value from secrets where name = $1', name)
}

/** The secret with this name. A new one is made, unless another process has made it before. */
export async function sharedSecret({ ask, change }: SqlEngine, name: string): Promise<Uint8Array> {
  const [found] = await ask(readSecret(name))
  if (found) return found[0] as Uint8Array
  const made = randomBytes(SECRET_BYTES)
  await change(sql('insert into secrets (name, value) values ($1, $2) on conflict do nothing', name, made))
  const [kept] = await ask(readSecret(name))
  if (!kept) throw new StoreUnavailable(new Error('the secret was deleted while it was stored'))
  return kept[0] as Uint8Array
}

export function readMark(name: string): Statement {
  return sql('select value from marks where name = $1', name)
}

export function writeMark(name: string, value: string): Statement {
  return sql(
    'insert into marks (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value',
    name,
    value,
  )
}
