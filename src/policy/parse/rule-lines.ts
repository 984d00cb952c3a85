/** policy.csv as lines of cells with their places; parse-rules.ts reads what the cells mean. */
import { createRequire } from 'node:module'
import type { Info } from 'csv-parse/sync'
import type { SourceFile } from '../../base/diagnostic.ts'
import { type Diagnostic, type Place, placeAt, placesIn } from '../../base/diagnostic.ts'

// `require` loads one file; `import` would load nineteen.
const { CsvError, parse }: typeof import('csv-parse/sync') = createRequire(import.meta.url)('csv-parse/sync')

export interface RuleLine {
  readonly line: number
  /** Spaces around a cell don't count. */
  readonly cells: readonly string[]
  /** The place where a cell begins; the end of the line for a missing cell. */
  placeOf(cell: number): Place
}

/**
 * No-break and zero-width spaces, control and bidirectional characters: they are invisible and change a name. A single
 * carriage return ends a line in some editors, but not here: it could hide a deny.
 */
const INVISIBLE = /\r(?!\n)|(?![\t\r\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu

/** An optional last line: a file that is cut off, or not yet completely written, lacks it. */
export const END = '# end of policy'
const END_LINE = /^[ \t]*#[ \t]*end of policy[ \t]*\r?$/im

export function saysItsEnd(text: string): boolean {
  return END_LINE.test(text)
}

/** The offset at which a rule is added: that of the last line, or the end of the text. */
export function placeForRules(text: string): number {
  return END_LINE.exec(text)?.index ?? text.length
}

/** Reports a file without its last line `# end of policy`. An empty file isn't cut off: it refuses everybody. */
export function findCutOff({ name, text }: SourceFile): Diagnostic | undefined {
  if (text.trim() === '' || saysItsEnd(text)) return undefined
  const message = `the file is incomplete: its last line \`${END}\` is missing`
  const hint = 'save the whole file, or write that line at its end'
  return fault(placeAt(name, text, text.trimEnd().length), 'policy-incomplete', message, hint)
}

/** The cells of a `p` line and of a `g` line in policy.csv. */
export const CELL = {
  subject: 1,
  resource: 2,
  action: 3,
  relation: 4,
  fields: 5,
  until: 7,
  role: 1,
  inherits: 2,
} as const

/** By number, without the lines that are at fault. */
export function ruleLinesOf(source: SourceFile): ReadonlyMap<number, RuleLine> {
  return new Map([...readRuleLines(source, () => undefined)].map((one) => [one.line, one]))
}

/** Splits the file into lines of cells, one when it is asked for; faults of syntax (not of meaning) go to `report`. */
export function* readRuleLines(source: SourceFile, report: (diagnostic: Diagnostic) => void): Generator<RuleLine> {
  reportInvisible(source, report)
  const texts = source.text.split(/\r?\n/)
  const end = END_LINE.exec(source.text)
  const lastLine = end ? placeAt(source.name, source.text, end.index).line : Number.POSITIVE_INFINITY
  for (const { line, cells } of texts.some(needsCsv) ? csvCells(source, report) : plainCells(texts)) {
    const placeOf = (cell: number) => ({ file: source.name, line, column: columnOf(texts[line - 1] ?? '', cell) })
    const long = cells.findIndex((cell) => cell.includes('\n'))
    if (long >= 0) {
      const message = 'a cell spans several lines'
      report(fault(placeOf(long), 'rule-lines', message, 'write one line for each rule; close the quotes'))
    }
    if (line > lastLine) {
      report(fault(placeOf(0), 'rule-behind-end', `this line is after \`${END}\``, 'move it before that line'))
    }
    yield { line, cells, placeOf }
  }
}

type CellsOfLine = Pick<RuleLine, 'line' | 'cells'>

/** Only rules with quotes need csv-parse; comments may have quotes. */
function needsCsv(text: string): boolean {
  return text.includes('"') && !text.trimStart().startsWith('#')
}

/** The same as csv-parse gives (rule-lines.test.ts), in a sixth of the time. */
function* plainCells(texts: readonly string[]): Generator<CellsOfLine> {
  for (const [i, text] of texts.entries()) {
    const rule = text.trim()
    if (rule === '' || rule.startsWith('#')) continue
    yield { line: i + 1, cells: rule.split(',').map((cell) => cell.trim()) }
  }
}

interface ParsedCsvLine {
  readonly info: Info
  readonly record: string[]
}

function csvCells(source: SourceFile, report: (diagnostic: Diagnostic) => void): readonly CellsOfLine[] {
  try {
    const records = parse(source.text, {
      comment: '#',
      comment_no_infix: true,
      relax_column_count: true,
      ltrim: true,
      rtrim: true,
      skip_empty_lines: true,
      record_delimiter: ['\r\n', '\n'],
      info: true,
    }) as unknown as readonly ParsedCsvLine[]
    // csv-parse counts the line where a record ends.
    return records.map(({ info, record }) => {
      return { line: info.lines - (record.join('').split('\n').length - 1), cells: record }
    })
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    const place = quotePlace(source, error, (text) => text.startsWith('#'))
    report(
      fault(
        place,
        'rule-quotes',
        'the quotes in this line are not well-formed CSV',
        'write "" for a quote inside quotes',
      ),
    )
    return []
  }
}

/** Refuses invisible characters, in comments too. */
export function reportInvisible({ name, text }: SourceFile, report: (diagnostic: Diagnostic) => void): void {
  const placeOf = placesIn(name, text)
  for (const { 0: character, index } of text.matchAll(INVISIBLE)) {
    const code = character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')
    const message = `there is an invisible character here: U+${code}`
    report(fault(placeOf(index), 'invisible-character', message, 'delete it, or write a plain space'))
  }
}

/** Column (from 1) of the first character of a cell. */
function columnOf(text: string, cell: number): number {
  return (cellStarts(text, ',')[cell] ?? text.length) + 1
}

/** Offsets in a record's text where its cells begin, after spaces. Inside quotes, a character separates nothing. */
export function cellStarts(text: string, separator: string): readonly number[] {
  const starts = [0]
  let quoted = false
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '"') quoted = !quoted
    if (text[at] === separator && !quoted) starts.push(at + 1)
  }
  return starts.map((start) => start + (/^[ \t]*/.exec(text.slice(start))?.[0].length ?? 0))
}

/** The first quote of the line that is no CSV; if a quote isn't closed, of the first line that may have opened it. */
export function quotePlace(
  { name, text }: SourceFile,
  { code, lines }: InstanceType<typeof CsvError>,
  isComment: (line: string) => boolean = () => false,
): Place {
  const texts = text.split('\n')
  const open = texts.findIndex((line) => !isComment(line) && line.split('"').length % 2 === 0) + 1
  const line = code === 'CSV_QUOTE_NOT_CLOSED' ? open : Number(lines ?? 1)
  return { file: name, line, column: Math.max((texts[line - 1] ?? '').indexOf('"') + 1, 1) }
}

function fault(place: Place, code: string, message: string, hint: string): Diagnostic {
  return { ...place, code, severity: 'error', message, hint }
}
