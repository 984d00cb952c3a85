/** The lines of a file that decide, in the file around them. */

interface SourceLinesProps {
  readonly file: string
  readonly text: string
  /** Numbers of lines, from 1. */
  readonly marked: ReadonlySet<number>
}

/** Lines before and after each marked one. */
const AROUND = 2

export function SourceLines({ file, text, marked }: SourceLinesProps) {
  const lines = text.split('\n')
  const shown = [...new Set([...marked].flatMap(around))].sort((a, b) => a - b)
  return (
    <figure class="source">
      <figcaption class="mono">{file}</figcaption>
      <ol>
        {shown
          .filter((number) => number >= 1 && number <= lines.length)
          .map((number) => (
            <li key={number} value={number} class={marked.has(number) ? 'marked' : ''}>
              <code>{lines[number - 1]}</code>
            </li>
          ))}
      </ol>
    </figure>
  )
}

function around(number: number): readonly number[] {
  return Array.from({ length: 2 * AROUND + 1 }, (_, i) => number - AROUND + i)
}

/** `policy.csv:28` by file. */
export function linesByFile(places: readonly string[]): ReadonlyMap<string, ReadonlySet<number>> {
  const found = new Map<string, Set<number>>()
  for (const place of places) {
    const [, file = '', line = ''] = /^(.*):(\d+)$/.exec(place) ?? []
    if (file === '') continue
    const lines = found.get(file) ?? new Set()
    found.set(file, lines.add(Number(line)))
  }
  return found
}
