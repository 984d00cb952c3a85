/** Lines of JSON, read from a stream of text. */

export class LineTooLong extends Error {
  /** Counted from 1. */
  readonly line: number

  constructor(line: number) {
    super(`line ${line} is too long`)
    this.name = 'LineTooLong'
    this.line = line
  }
}

/**
 * Only a line feed ends a line. node:readline ends lines at U+2028 and U+2029 too, and JSON texts may have these.
 * `longest`: characters. Throws LineTooLong, and what the chunks throw.
 */
export async function* linesIn(
  chunks: AsyncIterable<string>,
  longest = Number.POSITIVE_INFINITY,
): AsyncGenerator<string> {
  let begun: string[] = []
  let length = 0
  let line = 1
  for await (const chunk of chunks) {
    const parts = chunk.split('\n')
    const rest = parts.pop() ?? ''
    for (const part of parts) {
      yield [...begun, part].join('')
      begun = []
      length = 0
      line += 1
    }
    begun.push(rest)
    length += rest.length
    if (length > longest) throw new LineTooLong(line)
  }
  if (length > 0) yield begun.join('')
}
