/** Sections of text for a terminal: a label on the left, lines on the right. */

const LABEL_WIDTH = 10
const TEXT_WIDTH = 96

export interface Section {
  readonly label: string
  readonly lines: readonly string[]
}

/** Sections without lines are left out. */
export function layOut(sections: readonly Section[]): string {
  const lines = sections.flatMap(({ label, lines: texts }) =>
    texts.map((text, i) => `${(i === 0 ? label : '').padEnd(LABEL_WIDTH)}${text}`.trimEnd()),
  )
  return `${lines.join('\n')}\n`
}

/** Broken between words; what follows the first line is indented. */
export function wrap(text: string, indent = '  '): readonly string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`
    if (longer.length > TEXT_WIDTH && line !== '') {
      lines.push(line)
      line = indent + word
    } else line = longer
  }
  return [...lines, line]
}

/** Columns as wide as their widest cell. */
export function table(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
