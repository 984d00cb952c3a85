/** The names in a matrix. */
import { TextDocument } from 'vscode-languageserver-textdocument'
import type { SourceFile } from '../../base/diagnostic.ts'
import type { Resources } from '../../resources/resource.ts'
import { HAPPENINGS, TOLD_WORDS } from '../../tools/matrix/read/expectation.ts'
import { KNOWN_COLUMNS, readTable, type TableCell } from '../../tools/matrix/read/matrix-file.ts'
import { type NameSlot, slotsIn } from './name-slot.ts'

export function slotsOfMatrix(source: SourceFile, { routes }: Resources): readonly NameSlot[] {
  const document = TextDocument.create('', '', 0, source.text)
  const offsetOf = ({ place }: TableCell) => {
    const at = document.offsetAt({ line: place.line - 1, character: place.column - 1 })
    return source.text[at] === '"' ? at + 1 : at
  }
  const [head = [], ...rows] = readTable(source, () => undefined) ?? []
  const columns = head.map(({ text }) => KNOWN_COLUMNS.find((known) => known === text.toLowerCase()) ?? 'caller')
  const [path, event] = [columns.indexOf('path'), columns.indexOf('event')]
  const inHead = head.flatMap((cell, i) => (columns[i] === 'caller' ? slotsOfCaller(cell.text, offsetOf(cell)) : []))
  return [
    ...inHead,
    ...rows.flatMap((row) => {
      const about = routes.flatMap((route) => (route.path === row[path]?.text ? [route.resource] : []))
      const answer = row[event]?.text ? 'told' : 'caller'
      const columnOf = (i: number) => (columns[i] === 'caller' ? answer : (columns[i] ?? ''))
      return row.flatMap((cell, i) => slotsOfCell(columnOf(i), cell.text, offsetOf(cell), about))
    }),
  ]
}

const ROLES = /\+/g

function slotsOfCaller(text: string, start: number): readonly NameSlot[] {
  return slotsIn(text, start, ROLES, { kinds: ['role'], words: ['anonymous', 'everyone', 'user:'] })
}

function slotsOfCell(column: string, text: string, start: number, about: readonly string[]): readonly NameSlot[] {
  switch (column) {
    case 'method':
      return slotsIn(text, start, /\|/g, { words: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] })
    case 'object':
      return slotsIn(text, start, /\+/g, { kinds: ['relation'], about, words: ['none', 'missing', 'other', 'own'] })
    case 'event':
      return slotsIn(text, start, undefined, { words: [...HAPPENINGS] })
    case 'becomes':
      return slotsIn(text, start, /[+>]/g, { kinds: ['relation'], about, words: ['other', 'own'] })
    case 'when':
      return slotsIn(text, start, /\+/g, { kinds: ['condition'] })
    case 'told':
      return slotsOfTold(text, start, about)
    case 'caller':
      return slotsOfAnswer(text, start, about)
    default:
      return []
  }
}

/** `200 changed`, `200 changed public`. */
function slotsOfTold(text: string, start: number, about: readonly string[]): readonly NameSlot[] {
  const { status, word = '', view } = /^(?<status>\d{3}\s+)(?<word>\S*)(?:(?<view>\s.*))?/.exec(text)?.groups ?? {}
  if (status === undefined) return []
  const from = start + status.length
  const named = view === undefined ? [] : slotsIn(view, from + word.length, undefined, { kinds: ['view'], about })
  return [...slotsIn(word, from, undefined, { words: [...TOLD_WORDS] }), ...named]
}

/** `200 public`, `200 [own+team&!draft]`. */
function slotsOfAnswer(text: string, start: number, about: readonly string[]): readonly NameSlot[] {
  const { status = '', rows, view } = /^(?<status>\d{3}\s+)(?:\[(?<rows>[^[\]]*)|(?<view>.*))/.exec(text)?.groups ?? {}
  const from = start + status.length
  if (rows !== undefined) {
    return slotsIn(rows, from + 1, /[+&]/g, { kinds: ['relation'], about, words: ['own', 'all', 'none'] })
  }
  return view === undefined ? [] : slotsIn(view, from, undefined, { kinds: ['view'], about })
}
