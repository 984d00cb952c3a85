/** Named values next to the objects: secrets that instances share, and marks that describe the data. */

import { randomBytes } from 'node:crypto'
import { StoreUnavailable } from '../errors.ts'
import type { Statement } from '../sql/statement.ts'
import type { Connections } from './connections/connections.ts'
import { encodeText } from './stored-text.ts'

const SECRET_BYTES = 32

/** The secret with this name. A new one is made, unless another instance has made it before. */
export async function readSecret(connections: Connections, name: string): Promise<Uint8Array> {
  const find = { text: 'select value from secrets where name = $1', values: [encodeText(name)] }
  const [found] = await connections.slow(find)
  if (found) return found[0] as Uint8Array
  const text = 'insert into secrets (name, value) values ($1, $2) on conflict do nothing'
  await connections.change({ text, values: [encodeText(name), randomBytes(SECRET_BYTES)] })
  const [kept] = await connections.slow(find)
  if (!kept) throw new StoreUnavailable(new Error('the secret was deleted while it was stored'))
  return kept[0] as Uint8Array
}

export function readMark(name: string): Statement {
  return { text: 'select value from marks where name = $1', values: [encodeText(name)] }
}

export function writeMark(name: string, value: string): Statement {
  const text = `insert into marks (name, value) values ($1, $2)
    on conflict (name) do update set value = excluded.value`
  return { text, values: [encodeText(name), encodeText(value)] }
}
