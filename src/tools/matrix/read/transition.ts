/** The column `becomes`: which relations hold for the object that a write leaves. */
import type { Method } from '../../../resources/resource.ts'
import { type Expectation, type ObjectState, objectText, whenText } from './expectation.ts'
import { failed, type Parsed, parsed } from './parsed.ts'
import { parseObject } from './words.ts'

/** The other cells of the row; undefined for a faulty cell. */
interface WrittenRow {
  readonly methods: readonly Method[] | undefined
  readonly object: ObjectState | undefined
  readonly body: string | undefined
}

const WRITES: readonly string[] = ['POST', 'PUT', 'PATCH']

/**
 * All relations of the result, sorted; undefined for an empty cell. `draft>placed` replaces relations of the stored
 * object and keeps the others. For a new object, the cell names all of them, as in `owner+draft`.
 */
export function parseTransition(text: string, row: WrittenRow): Parsed<readonly string[] | undefined> {
  if (text === '' || !row.methods || !row.object) return parsed(undefined)
  const unwritten = row.methods.find((method) => !WRITES.includes(method))
  if (unwritten !== undefined) return failed(`${unwritten} leaves no object to describe`, 'empty the cell')
  if (row.object.kind === 'missing') return failed('a missing object becomes nothing', 'empty the cell')
  if (row.body !== undefined)
    return failed(`the body file decides what the object becomes`, 'empty this cell or the cell in the column body')
  return row.object.kind === 'none' ? parseCreated(text) : parseChange(text, row.object)
}

/** As the column writes it; empty if the body isn't made for that. */
export function transitionText({ object, becomes }: Pick<Expectation, 'object' | 'becomes'>): string {
  if (!becomes) return ''
  if (object.kind === 'none') return objectText(stateOf(becomes))
  const before = namesIn(object)
  const isSame = before.length === becomes.length && before.every((name) => becomes.includes(name))
  const ended = isSame ? before : before.filter((name) => !becomes.includes(name))
  const begun = isSame ? becomes : becomes.filter((name) => !before.includes(name))
  return `${objectText(stateOf(ended))}>${objectText(stateOf(begun))}`
}

/** The object, what becomes of it, and the conditions that hold: `own becomes draft>placed when office`. */
export function situationText(situation: Pick<Expectation, 'object' | 'when' | 'whenNot' | 'becomes'>): string {
  const [becomes, when] = [transitionText(situation), whenText(situation)]
  const parts = [becomes && `becomes ${becomes}`, when && `when ${when}`].filter((part) => part !== '')
  return [objectText(situation.object), ...parts].join(' ')
}

function parseCreated(text: string): Parsed<readonly string[]> {
  if (text.includes('>'))
    return failed('a new object has no relations before', 'write its relations, as in owner+draft')
  return parseSide(text)
}

function parseChange(text: string, object: ObjectState): Parsed<readonly string[]> {
  const [left = '', right, more] = text.split('>').map((side) => side.trim())
  if (right === undefined || more !== undefined)
    return failed(`\`${text}\` is not a change of relations`, 'write draft>placed, other>owner or owner>other')
  const [ended, begun] = [parseSide(left), parseSide(right)]
  if (ended.kind === 'wrong') return ended
  if (begun.kind === 'wrong') return begun
  const before = namesIn(object)
  const lacking = ended.value.find((name) => !before.includes(name))
  if (lacking !== undefined)
    return failed(
      `\`${lacking}\` doesn't hold before the write: the object is \`${objectText(object)}\``,
      'add it to the column object, or name another relation left of >',
    )
  const kept = before.filter((name) => !ended.value.includes(name))
  return parsed([...new Set([...kept, ...begun.value])].sort())
}

/** `other` for no relation. */
function parseSide(text: string): Parsed<readonly string[]> {
  const side = parseObject(text)
  if (side.kind === 'wrong') return side
  if (side.value.kind !== 'none' && side.value.kind !== 'missing') return parsed(namesIn(side.value))
  return failed(`\`${text}\` is not a set of relations`, 'write other, own, or relations as in owner+draft')
}

function namesIn(object: ObjectState): readonly string[] {
  return object.kind === 'relations' ? object.names : []
}

function stateOf(names: readonly string[]): ObjectState {
  return names.length === 0 ? { kind: 'other' } : { kind: 'relations', names }
}
