/** The keywords that this program adds to JSON Schema. docs/schemas.md explains each. */
import type { Json } from '../resource.ts'

interface OwnKeyword {
  /** Where it has an effect: at the top of the file, or on a field of the resource itself. */
  readonly on: readonly ('file' | 'field')[]
  /** Whether the keyword of a field can have this value; undefined if another check looks at it. */
  readonly takes?: (value: Json) => boolean
  /** Whether the OpenAPI document repeats it. */
  readonly published: boolean
}

const isFlag = (value: Json) => typeof value === 'boolean'

export const OWN_KEYWORDS: Readonly<Record<string, OwnKeyword>> = {
  'x-resource': { on: ['file'], published: false },
  'x-index': { on: ['field'], takes: isFlag, published: false },
  'x-history': { on: ['file'], published: false },
  'x-unique': { on: ['file', 'field'], takes: isFlag, published: false },
  'x-reference': { on: ['field'], published: false },
}

/** Their names as a list for messages. Intl.ListFormat would cost each start 15 ms of processor time. */
export const OWN_KEYWORDS_LISTED = Object.keys(OWN_KEYWORDS)
  .map((name) => `\`${name}\``)
  .join(', ')
  .replace(/, (?=[^,]*$)/, ' and ')
