/** Text for a terminal: columns, sections and lines that fit. A wide character (CJK, emoji) takes two places. */
import { createRequire } from 'node:module'

const LABEL_WIDTH = 10
const TEXT_WIDTH = 96

const require = createRequire(import.meta.url)

/** Plain ASCII, as most texts are, doesn't load string-width: that takes 35 ms of processor time. */
function widthOf(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length
  const { default: stringWidth }: typeof import('string-width') = require('string-width')
  return stringWidth(text)
}

/** A label on the left, lines on the right. */
export interface Section {
  readonly label: string
  readonly lines: readonly string[]
}

/** Sections without lines are left out. */
export function layOut(sections: readonly Section[]): readonly string[] {
  return sections.flatMap(({ label, lines: texts }) =>
    texts.map((text, i) => `${(i === 0 ? label : '').padEnd(LABEL_WIDTH)}${text}`.trimEnd()),
  )
}

/** Breaks lines between words; all lines after the first are indented. */
export function wrap(text: string, indent = '  ', width = TEXT_WIDTH): readonly string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`
    if (widthOf(longer) > width && line !== '') {
      lines.push(line)
      line = indent + word
    } else line = longer
  }
  return [...lines, line]
}

/** Columns as wide as their widest cell. Those from `firstNumber` on hold numbers, which are aligned right. */
export function table(rows: readonly (readonly string[])[], firstNumber = Number.POSITIVE_INFINITY): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => widthOf(row[column] ?? ''))))
  const gap = (cell: string, column: number) => spaces(cell, widths[column] ?? 0)
  const place = (cell: string, column: number) =>
    column < firstNumber ? cell + gap(cell, column) : gap(cell, column) + cell
  return rows.map((row) => row.map(place).join('  ').trimEnd())
}

function spaces(text: string, width: number): string {
  return ' '.repeat(Math.max(0, width - widthOf(text)))
}

/** `1 error`, `2 errors`; `1 person`, `2 people`. */
export function count(number: number, noun: string, nouns = `${noun}s`): string {
  return `${number} ${number === 1 ? noun : nouns}`
}

/** Rounded down, so that a missed threshold never looks reached. */
export function percentText(percent: number): string {
  return String(Math.floor(percent * 10) / 10)
}

/** A value for programs. */
export function jsonText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}

/** A line for each element of its list `of`: a long list takes a third of the room. */
export function jsonOfLines<T extends object>(value: T, of: keyof T): string {
  const members = Object.entries(value).map(([name, member]) => {
    const isLong = name === of && Array.isArray(member) && member.length > 0
    const text = isLong ? `[\n${member.map((one) => JSON.stringify(one)).join(',\n')}\n]` : JSON.stringify(member)
    return `${JSON.stringify(name)}: ${text}`
  })
  return `{ ${members.join(',\n')} }\n`
}
