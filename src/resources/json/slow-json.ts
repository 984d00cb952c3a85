/**
 * JSON text, name by name: the first fault and its place, or the value. Strict JSON is read so where JSON.parse can't be
 * trusted with it.
 */
import { type JSONVisitor, type Node, type ParseErrorCode, parseTree, visit } from 'jsonc-parser'
import { placeAt } from '../../base/diagnostic.ts'
import { Problem } from '../../base/problems/problem.ts'
import type { Json } from '../resource.ts'
import { syntaxFault } from '../schema/schema-file.ts'

/** The most lists and objects inside one another. */
export const DEEPEST = 32

/** Throws Problem invalid-json, saying line and column. */
export function refuseFaultyJson(text: string): void {
  visitStrictly(text, DEEPEST, (offset, what) => {
    const { line, column } = placeAt('', text, offset)
    throw new Problem('invalid-json', `The body is not strict JSON; correct ${what} at line ${line}, column ${column}.`)
  })
}

type Refuse = (offset: number, what: string) => never

/** Calls `refuse` at the first fault, so a hostile text isn't read further. */
export function visitStrictly(text: string, deepest: number, refuse: Refuse): void {
  const options = { disallowComments: true, allowTrailingComma: false, allowEmptyContent: false }
  visit(text, strictVisitor(deepest, refuse), options)
}

function strictVisitor(deepest: number, refuse: Refuse): JSONVisitor {
  const names: Set<string>[] = []
  let depth = 0
  const enter = (offset: number) => {
    depth++
    if (depth > deepest) refuse(offset, `the nesting deeper than ${deepest} levels`)
  }
  const checkText = (value: string, offset: number) => {
    if (!value.isWellFormed()) refuse(offset, 'the lone surrogate')
    if (value.includes('\0')) refuse(offset, 'the character U+0000')
  }
  return {
    onObjectBegin: (offset) => {
      enter(offset)
      names.push(new Set())
    },
    onObjectProperty: (name, offset) => {
      checkText(name, offset)
      if (names.at(-1)?.has(name)) refuse(offset, 'the repeated name')
      names.at(-1)?.add(name)
    },
    onObjectEnd: () => {
      names.pop()
      depth--
    },
    onArrayBegin: enter,
    onArrayEnd: () => {
      depth--
    },
    onLiteralValue: (value, offset) => {
      if (typeof value === 'string') checkText(value, offset)
      if (typeof value === 'number' && !(Math.abs(value) <= Number.MAX_SAFE_INTEGER)) {
        refuse(offset, 'the number beyond 2^53')
      }
    },
    onError: (error: ParseErrorCode, offset) => refuse(offset, `the syntax (${syntaxFault(error)})`),
  }
}

/** The value of text without a fault. */
export function readExactly(text: string): Json {
  const tree = parseTree(text)
  if (!tree) throw new Error('text without a fault has a value')
  return jsonOf(tree)
}

/** As JSON.parse makes it: `__proto__` is a member like others. */
function jsonOf({ type, value, children = [] }: Node): Json {
  if (type === 'array') return children.map(jsonOf)
  if (type === 'object') return Object.fromEntries(children.map(memberOf))
  return value as Json
}

function memberOf({ children: [name, value] = [] }: Node): readonly [string, Json] {
  if (!name || !value) throw new Error('a member of text without a fault has a name and a value')
  return [name.value as string, jsonOf(value)]
}
