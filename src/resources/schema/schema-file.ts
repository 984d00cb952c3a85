/** One schema file: strict JSON, and the place of every node for diagnostics. Other files read what the JSON means. */
import { basename } from 'node:path'
import { type Node, type ParseError, type ParseErrorCode, parseTree, printParseErrorCode } from 'jsonc-parser'
import { type Diagnostic, type Place, placeAt } from '../../base/diagnostic.ts'
import type { Path } from '../../base/json-pointer.ts'
import { SCHEMA_CODES, type SchemaCode } from '../check/codes.ts'
import type { Json } from '../resource.ts'

export type JsonObject = { readonly [key: string]: Json }

/** A text, and the name of its file in diagnostics. */
export interface SourceText {
  readonly name: string
  readonly text: string
  /** A file of `commands/`; the others declare resources. */
  readonly isCommand?: true
}

export interface SchemaFile {
  /** The name of the resource, or of the command: the file's, without `.json`. */
  readonly resource: string
  readonly json: Json
  /** The place where the value at the path begins, or else the nearest existing value around it. */
  place(path: Path): Place
  /** A diagnostic at the value of the path. */
  fault(path: Path, code: SchemaCode, message: string): Diagnostic
  /** A diagnostic at the key that leads to the path's value. */
  faultAtKey(path: Path, code: SchemaCode, message: string): Diagnostic
}

export type ParsedSchemaFile =
  | { readonly kind: 'file'; readonly file: SchemaFile }
  | { readonly kind: 'faulty'; readonly faults: readonly Diagnostic[] }

/** Faults are a name that no resource can have, and a text that isn't strict JSON with unique keys. */
export function parseSchemaFile(source: SourceText): ParsedSchemaFile {
  const resource = basename(source.name, '.json')
  const wrongName = /^[a-z][a-z0-9-]*$/.test(resource)
    ? []
    : [
        faultAt(
          source,
          0,
          'file-name',
          `\`${resource}\` can't be a ${source.isCommand ? "command's" : "resource's"} name`,
        ),
      ]
  const { root, faults } = parseStrictly(source)
  if (root === undefined || wrongName.length + faults.length > 0) {
    return { kind: 'faulty', faults: [...wrongName, ...faults] }
  }
  return { kind: 'file', file: schemaFile(source, resource, root) }
}

/** A part of the file as a file of its own. */
export function partOf(file: SchemaFile, part: string, json: Json): SchemaFile {
  return {
    resource: `${file.resource}#${part}`,
    json,
    place: (path) => file.place([part, ...path]),
    fault: (path, ...rest) => file.fault([part, ...path], ...rest),
    faultAtKey: (path, ...rest) => file.faultAtKey([part, ...path], ...rest),
  }
}

/** A diagnostic at a character offset of a file. */
export function faultAt({ name, text }: SourceText, offset: number, code: SchemaCode, message: string): Diagnostic {
  return { ...placeAt(name, text, offset), code, severity: 'error', message, hint: SCHEMA_CODES[code] }
}

function schemaFile(source: SourceText, resource: string, root: Node): SchemaFile {
  const valueAt = (path: Path): Node => nearest(root, path)
  return {
    resource,
    json: JSON.parse(source.text) as Json,
    place: (path) => placeAt(source.name, source.text, valueAt(path).offset),
    fault: (path, ...rest) => faultAt(source, valueAt(path).offset, ...rest),
    faultAtKey: (path, ...rest) => faultAt(source, keyOf(valueAt(path)).offset, ...rest),
  }
}

interface Tree {
  readonly root: Node | undefined
  readonly faults: readonly Diagnostic[]
}

function parseStrictly(source: SourceText): Tree {
  const tooDeep = firstTooDeep(source.text)
  if (tooDeep !== undefined) {
    const message = `the file has more than ${DEEPEST} levels of lists and objects`
    return { root: undefined, faults: [faultAt(source, tooDeep, 'json-depth', message)] }
  }
  const errors: ParseError[] = []
  const root = parseTree(source.text, errors, { disallowComments: true, allowTrailingComma: false })
  // After the first error the parser guesses how to continue, so its later errors would mislead.
  const [first] = errors
  if (first) return { root, faults: [faultAt(source, first.offset, 'json-syntax', syntaxFault(first.error))] }
  if (root === undefined || !isJson(source.text)) {
    return { root, faults: [faultAt(source, 0, 'json-syntax', 'this is not JSON')] }
  }
  return { root, faults: keyFaults(source, root) }
}

/** Bodies have at most 32 levels. Parsers and checks of schemas go down by themselves: many levels overflow the stack. */
const DEEPEST = 200

/** Where the first list or object begins that is too deep; undefined for none. Says nothing about text that isn't JSON. */
export function firstTooDeep(text: string): number | undefined {
  let depth = 0
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}]/g)) {
    if (token === '[' || token === '{') depth++
    else if (token === ']' || token === '}') depth--
    if (depth > DEEPEST) return index
  }
  return undefined
}

/** `CommaExpected` -> `comma expected`. */
export function syntaxFault(code: ParseErrorCode): string {
  return printParseErrorCode(code)
    .replace(/(?!^)[A-Z]/g, ' $&')
    .toLowerCase()
}

/** The tree's parser takes a byte order mark for white space, which JSON (RFC 8259 section 8.1) doesn't. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function keyFaults(source: SourceText, node: Node): readonly Diagnostic[] {
  const inside = (node.children ?? []).flatMap((child) => keyFaults(source, child))
  if (node.type !== 'object') return inside
  const seen = new Set<unknown>()
  const here = (node.children ?? []).flatMap(({ children: [key] = [] }) => {
    if (key === undefined) return []
    if (key.value === '__proto__') {
      return [faultAt(source, key.offset, 'json-prototype-key', 'the key `__proto__` is not accepted')]
    }
    if (!seen.has(key.value)) {
      seen.add(key.value)
      return []
    }
    return [faultAt(source, key.offset, 'json-duplicate-key', `the key \`${key.value}\` is repeated`)]
  })
  return [...here, ...inside]
}

function nearest(node: Node, [head, ...rest]: Path): Node {
  const next = head === undefined ? undefined : childOf(node, head)
  return next ? nearest(next, rest) : node
}

function childOf(node: Node, part: string | number): Node | undefined {
  if (node.type === 'array') return node.children?.[Number(part)]
  return node.children?.find(({ children: [key] = [] }) => key?.value === String(part))?.children?.[1]
}

function keyOf(value: Node): Node {
  return value.parent?.type === 'property' ? (value.parent.children?.[0] ?? value) : value
}
