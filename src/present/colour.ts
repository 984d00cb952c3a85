/** Colours of text for a terminal. They are added last, to escaped text, so that no outside value can add its own. */
import type { Writable } from 'node:stream'
import { styleText } from 'node:util'

type Colour = 'bold' | 'green' | 'yellow' | 'red'

/** Text with the same meaning has the same colour in every command. */
const COLOURS: readonly (readonly [RegExp, Colour])[] = [
  // The head of a table.
  [/^[A-Z][A-Z-]*(?: [A-Z]+)?(?: {2,}[A-Z][A-Z-]*(?: [A-Z]+)?)+$/gm, 'bold'],
  // A verdict, alone or in a row.
  [/^(?:ALLOW|EQUIVALENT)\b|(?<= {2})(?:allowed|active|signs)(?= |$)|^ok(?= {2})|^ {2}\+ /gm, 'green'],
  [
    /^(?:DEPENDS)\b|^warning(?= {2})|(?<=: )warning(?=: )|(?<= {2})(?:expired|no password|one-time password)(?= |$)|^ {2}\? /gm,
    'yellow',
  ],
  [/^DENY\b|^fault(?= {2})|(?<=: )error(?=: )|(?<= {2})(?:refused|failed|revoked|disabled)(?= |$)|^ {2}- /gm, 'red'],
]

/** Unchanged if the stream isn't a terminal, or NO_COLOR is set. */
export function coloured(text: string, stream: Writable): string {
  return COLOURS.reduce(
    (whole, [pattern, colour]) => whole.replaceAll(pattern, (part) => styleText(colour, part, { stream })),
    text,
  )
}
