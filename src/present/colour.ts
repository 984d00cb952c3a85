/** Colours of text for a terminal. They come last, over escaped text, so that no value from outside brings its own. */
import { styleText } from 'node:util'

type Colour = 'bold' | 'green' | 'yellow' | 'red'

/** What means the same in every command has one colour. */
const COLOURS: readonly (readonly [RegExp, Colour])[] = [
  // The head of a table.
  [/^[A-Z][A-Z-]*(?: [A-Z]+)?(?: {2,}[A-Z][A-Z-]*(?: [A-Z]+)?)+$/gm, 'bold'],
  // A verdict, alone or in a row.
  [/^(?:ALLOW|EQUIVALENT)\b|(?<= {2})(?:allowed|active|signs)(?= |$)|^ {2}\+ /gm, 'green'],
  [
    /^(?:DEPENDS)\b|(?<=: )warning(?=: )|(?<= {2})(?:expired|no password|one-time password)(?= |$)|^ {2}\? /gm,
    'yellow',
  ],
  [/^DENY\b|(?<=: )error(?=: )|(?<= {2})(?:refused|failed|revoked|disabled)(?= |$)|^ {2}- /gm, 'red'],
]

/** As it is where the stream is no terminal, or NO_COLOR is set. */
export function coloured(text: string, stream: NodeJS.WriteStream): string {
  return COLOURS.reduce(
    (whole, [pattern, colour]) => whole.replaceAll(pattern, (part) => styleText(colour, part, { stream })),
    text,
  )
}
