/** Whether what PostgreSQL keeps beside a document is the document's. */
import { isDeepStrictEqual } from 'node:util'
import type { Document } from '../../../resources/object.ts'
import { parseStored } from '../../parse-stored.ts'
import type { Row } from '../../sql/statement.ts'
import { keysOf } from '../layout/keys.ts'
import { decodeText } from '../stored-text.ts'

/** The fields whose keys or times aren't those of the document. `beside`: the columns `keys` and `times`. */
export function disagreeing(id: string, text: string, [keys, times]: Row): readonly string[] {
  const document = documentOf(text)
  if (document === undefined) return []
  const made = keysOf(id, document)
  const fields = [...fieldsThatDiffer(String(keys), made.keys), ...fieldsThatDiffer(String(times), made.times)]
  return [...new Set(fields)].map(decodeText).toSorted()
}

function documentOf(text: string): Document | undefined {
  try {
    return parseStored(text, () => '')
  } catch {
    return undefined
  }
}

/** Both are JSON of the form that `keysOf` makes, or of any other form in a damaged row. */
function fieldsThatDiffer(stored: string, made: string): readonly string[] {
  const [one, other] = [JSON.parse(stored), JSON.parse(made)].map((json) => new Map<string, unknown>(entriesOf(json)))
  const fields = [...new Set([...(one?.keys() ?? []), ...(other?.keys() ?? [])])]
  return fields.filter((field) => !isDeepStrictEqual(one?.get(field), other?.get(field)))
}

function entriesOf(json: unknown): readonly (readonly [string, unknown])[] {
  return typeof json === 'object' && json !== null ? Object.entries(json) : []
}
