/**
 * The words of a matrix: methods, objects, callers, answers, and transitions (the column `becomes`). Other files check
 * whether roles and relations exist.
 */

import type { Method } from '../../../resources/resource.ts'
import {
  columnText,
  type Expectation,
  type Expected,
  expectedText,
  failed,
  HAPPENINGS,
  type Happening,
  heldIn,
  type MatrixColumn,
  type ObjectState,
  objectText,
  type ParsedWord,
  parsed,
  parseRows,
  sortedSet,
  stateOf,
  TOLD_WORDS,
  whenText,
} from './expectation.ts'

const METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** Fixed words; spreadsheet programs often capitalize their first letter. */
const OBJECTS = ['none', 'missing', 'other'] as const

/** `GET|HEAD`. */
export function parseMethods(text: string): ParsedWord<readonly Method[]> {
  const words = partsOf(text, '|').map((word) => word.toUpperCase())
  const wrong = words.find((word) => !METHODS.includes(word))
  if (wrong !== undefined) {
    return failed(`\`${wrong}\` is not a method`, `write ${METHODS.join(', ')}, or several joined with |`)
  }
  const twice = words.find((word, i) => words.indexOf(word) < i)
  if (twice !== undefined) return failed(`the method \`${twice}\` occurs twice`, 'name it once')
  return parsed(words as readonly Method[])
}

/** `none`, `missing`, `other`, `own`, or relations joined with `+`. */
export function parseObject(text: string): ParsedWord<ObjectState> {
  const kind = OBJECTS.find((word) => word === text.toLowerCase())
  if (kind) return parsed({ kind })
  const names = partsOf(text, '+').map((name) => (name.toLowerCase() === 'own' ? 'owner' : name))
  const wrong = names.find((name) => name === '' || /\s/.test(name) || OBJECTS.some((word) => word === name))
  if (wrong !== undefined) {
    return failed(`\`${text}\` is not an object`, 'write none, missing, other, own, or relations as in owner+draft')
  }
  return parsed({ kind: 'relations', names: sortedSet(names) })
}

/** Conditions joined with `+`, as in `office+fresh` or `!office`; empty if no condition holds. */
export function parseWhen(text: string): ParsedWord<Pick<Expectation, 'when' | 'whenNot'>> {
  if (text === '') return parsed({})
  const terms = partsOf(text, '+').map((term) => ({ name: term.replace(/^!/, ''), negated: term.startsWith('!') }))
  if (terms.some(({ name }) => name === '' || /[\s!<>]/.test(name))) {
    return failed(`\`${text}\` is not a list of conditions`, 'write conditions as in office+fresh or !office')
  }
  const namesOf = (negated: boolean) =>
    sortedSet(terms.filter((term) => term.negated === negated).map(({ name }) => name))
  const [when, whenNot] = [namesOf(false), namesOf(true)]
  const both = when.find((name) => whenNot.includes(name))
  if (both !== undefined) return failed(`\`${both}\` can't hold and not hold`, 'keep one of them')
  return parsed({ ...(when.length > 0 ? { when } : {}), ...(whenNot.length > 0 ? { whenNot } : {}) })
}

/** `anonymous`, `everyone`, `user:<id>`, or roles joined with `+`. */
export function parseColumn(text: string): ParsedWord<MatrixColumn> {
  const word = text.toLowerCase()
  if (word === 'anonymous') return parsed({ kind: 'anonymous' })
  if (word === 'everyone') return parsed({ kind: 'roles', roles: [] })
  if (word.startsWith('user:')) return parseUser(text.slice('user:'.length))
  const roles = partsOf(text, '+')
  const wrong = roles.find((role) => role === '' || /^(anonymous|everyone|user:.*)$/i.test(role))
  if (wrong !== undefined) {
    return failed(
      `the column \`${text}\` is not a caller`,
      'write anonymous, a role, roles as in member+auditor, or user:<id>',
    )
  }
  return parsed({ kind: 'roles', roles: sortedSet(roles) })
}

/** `200`, `200 public`, `200 [own+team]`; undefined for `-`, which states nothing. */
export function parseExpected(text: string): ParsedWord<Expected | undefined> {
  if (text === '-') return parsed(undefined)
  const { status, list, view } =
    /^(?<status>[1-5]\d\d)(\s+(\[(?<list>[^[\]]*)\]|(?<view>[\w.-]+)))?$/.exec(text)?.groups ?? {}
  if (status === undefined) {
    const what = text === '' ? 'the cell is empty' : `the cell \`${text}\` is not an answer`
    return failed(what, 'write a status as in 403, 200 public, 200 [own] or 200 [all], or - to state nothing')
  }
  const rows = list === undefined ? undefined : parseRows(list)
  if (rows?.kind === 'wrong') return rows
  const shown = list === undefined ? view : `[${list}]`
  if (shown !== undefined && !(list === undefined ? ['200', '201'] : ['200']).includes(status)) {
    return failed(`\`${text}\` is impossible: an answer ${status} has no \`${shown}\``, `write ${status} alone`)
  }
  return parsed({
    status: Number(status),
    ...(rows === undefined ? {} : { list: rows.value }),
    ...(view === undefined ? {} : { view }),
  })
}

/** In a row with an event: `200 nothing`, `200 changed`, `200 changed public`, or the status of a refusal. */
export function parseTold(text: string): ParsedWord<Expected | undefined> {
  if (text === '-' || text === '') return parseExpected(text)
  const hint =
    'write 200 appeared, 200 changed, 200 gone, 200 reset or 200 nothing, or the status of a refusal as in 403'
  const { status, word, view } =
    /^(?<status>[1-5]\d\d)(\s+(?<word>[A-Za-z]+)(\s+(?<view>[\w.-]+))?)?$/.exec(text)?.groups ?? {}
  const told = TOLD_WORDS.find((one) => one === word?.toLowerCase())
  if (status === undefined || (word !== undefined && !told))
    return failed(`the cell \`${text}\` doesn't say what the caller is told`, hint)
  if ((status === '200') !== (told !== undefined))
    return failed(
      told ? `an answer ${status} tells no events` : "the cell `200` doesn't say what the caller is told",
      told ? `write ${status} alone` : hint,
    )
  if (view !== undefined && told !== 'appeared' && told !== 'changed')
    return failed(`\`${told}\` shows no fields`, `write ${status} ${told} alone`)
  return parsed({ status: Number(status), ...(told && { told }), ...(view === undefined ? {} : { view }) })
}

function parseUser(id: string): ParsedWord<MatrixColumn> {
  if (id !== '') return parsed({ kind: 'user', id })
  return failed('the column `user:` names nobody', 'write the id after it, as in user:alice')
}

function partsOf(text: string, separator: string): readonly string[] {
  return text.split(separator).map((part) => part.trim())
}

/** The other cells of the row; undefined for a faulty cell. */
interface WrittenRow {
  readonly methods: readonly Method[] | undefined
  readonly object: ObjectState | undefined
  readonly body: string | undefined
  readonly event?: Happening | undefined
}

/** `created`, `changed` or `deleted`: what happens to the object; empty if nothing does. `becomes`: the cell's text. */
export function parseEvent(
  text: string,
  { methods, object, body }: WrittenRow,
  becomes: string,
): ParsedWord<Happening | undefined> {
  if (text === '') return parsed(undefined)
  const event = HAPPENINGS.find((word) => word === text.toLowerCase())
  if (!event) return failed(`\`${text}\` is not what can happen to an object`, 'write created, changed or deleted')
  if (methods?.some((method) => method !== 'GET'))
    return failed('only GET follows events', 'write GET in the column method, or empty the cell')
  if (object && (object.kind === 'none') !== (event === 'created'))
    return event === 'created'
      ? failed('an object that is created had no relations before', 'write none in the column object')
      : failed(`\`none\` can't be ${event}`, 'write the relations of the object before it, or created')
  if (object?.kind === 'missing')
    return failed(`a missing object can't be ${event}`, 'write the relations of an object')
  const left = [becomes, body ?? ''].filter((one) => one !== '').length
  if (event === 'created' && becomes === '')
    return failed("the row doesn't say what is created", 'write its relations in the column becomes')
  if (event === 'changed' && left === 0)
    return failed("the row doesn't say what changes", 'write draft>placed in the column becomes, or a file in body')
  if (event === 'deleted' && left > 0)
    return failed('a deleted object becomes nothing', 'empty the columns becomes and body')
  return parsed(event)
}

const WRITES: readonly string[] = ['POST', 'PUT', 'PATCH']

/**
 * All relations of the result, sorted; undefined for an empty cell. `draft>placed` replaces relations of the stored
 * object and keeps the others. For a new object, the cell names all of them, as in `owner+draft`.
 */
export function parseTransition(text: string, row: WrittenRow): ParsedWord<readonly string[] | undefined> {
  if (text === '' || !row.methods || !row.object) return parsed(undefined)
  const unwritten = row.event ? undefined : row.methods.find((method) => !WRITES.includes(method))
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
  const before = heldIn(object)
  const isSame = before.length === becomes.length && before.every((name) => becomes.includes(name))
  const ended = isSame ? before : before.filter((name) => !becomes.includes(name))
  const begun = isSame ? becomes : becomes.filter((name) => !before.includes(name))
  return `${objectText(stateOf(ended))}>${objectText(stateOf(begun))}`
}

/** The object, what becomes of it, and the conditions that hold: `own becomes draft>placed when office`. */
export function situationText(
  situation: Pick<Expectation, 'object' | 'event' | 'when' | 'whenNot' | 'becomes'>,
): string {
  const [becomes, when] = [transitionText(situation), whenText(situation)]
  const parts = [situation.event ?? '', becomes && `becomes ${becomes}`, when && `when ${when}`]
  return [objectText(situation.object), ...parts.filter((part) => part !== '')].join(' ')
}

/** One line that identifies the cell. */
export function titleOf(expectation: Expectation): string {
  const { method, path, object, event, column, body, note, expected } = expectation
  const change = transitionText(expectation)
  const becomes = change === '' ? '' : `becomes ${change}`
  const file = body?.replace(/^.*[\\/]/, '')
  const about = [objectText(object), event, becomes, whenText(expectation), file, note].filter(Boolean).join(', ')
  return `${method} ${path} (${about}) as ${columnText(column)} is ${expectedText(expected)}`
}

function parseCreated(text: string): ParsedWord<readonly string[]> {
  if (text.includes('>'))
    return failed('a new object has no relations before', 'write its relations, as in owner+draft')
  return parseSide(text)
}

function parseChange(text: string, object: ObjectState): ParsedWord<readonly string[]> {
  const [left = '', right, more] = text.split('>').map((side) => side.trim())
  if (right === undefined || more !== undefined)
    return failed(`\`${text}\` is not a change of relations`, 'write draft>placed, other>owner or owner>other')
  const [ended, begun] = [parseSide(left), parseSide(right)]
  if (ended.kind === 'wrong') return ended
  if (begun.kind === 'wrong') return begun
  const before = heldIn(object)
  const lacking = ended.value.find((name) => !before.includes(name))
  if (lacking !== undefined)
    return failed(
      `\`${lacking}\` doesn't hold before the write: the object is \`${objectText(object)}\``,
      'add it to the column object, or name another relation left of >',
    )
  const kept = before.filter((name) => !ended.value.includes(name))
  return parsed(sortedSet([...kept, ...begun.value]))
}

/** `other` for no relation. */
function parseSide(text: string): ParsedWord<readonly string[]> {
  const side = parseObject(text)
  if (side.kind === 'wrong') return side
  if (side.value.kind !== 'none' && side.value.kind !== 'missing') return parsed(heldIn(side.value))
  return failed(`\`${text}\` is not a set of relations`, 'write other, own, or relations as in owner+draft')
}
