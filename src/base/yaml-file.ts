/**
 * Strict YAML: one document, unique keys, no aliases or tags, checked by a JSON Schema, with the place of every node.
 */
import type { ErrorObject, ValidateFunction } from 'ajv'
import { isMap, isNode, isScalar, isSeq, LineCounter, parseDocument, visit } from 'yaml'
import { type Diagnostic, type Place, placesIn, type SourceFile } from './diagnostic.ts'
import { type Path, pathOfPointer } from './json-pointer.ts'
import { reportable, shapeHint, shapeSentence } from './problems/shape-faults.ts'

export interface YamlFile<T> {
  readonly value: T
  /** A diagnostic about the node at a path. */
  fault(path: Path, code: string, message: string, hint?: string): Diagnostic
}

type CheckedForm<T> = { readonly value: T } | { readonly errors: readonly ErrorObject[] }

export type Shape<T> = (value: unknown) => CheckedForm<T>

/** Turns a compiled JSON Schema into a check that also narrows the value's type. */
export function shapeBy<T>(compiled: ValidateFunction): Shape<T> {
  const validate = compiled as ValidateFunction<T>
  return (value): CheckedForm<T> => {
    if (validate(value)) return { value }
    return { errors: validate.errors ?? [] }
  }
}

/** Files without a fault: a command that tries a thousand policies changes one file of each. */
const parsed = new WeakMap<SourceFile, WeakMap<Shape<unknown>, YamlFile<unknown>>>()

/** Parses a file; reports faults to `report`, and then returns no value. The same file is parsed once. */
export function parseYaml<T>(
  file: SourceFile,
  shape: Shape<T>,
  report: (diagnostic: Diagnostic) => void,
): YamlFile<T> | undefined {
  const known = parsed.getOrInsertComputed(file, () => new WeakMap<Shape<unknown>, YamlFile<unknown>>())
  const found = known.get(shape) ?? readYaml(file, shape, report)
  if (found) known.set(shape, found)
  return found as YamlFile<T> | undefined
}

const TOO_DEEP = 'the value has too many levels of lists and mappings; write it with fewer'

function readYaml<T>(
  { name, text: whole }: SourceFile,
  shape: Shape<T>,
  report: (diagnostic: Diagnostic) => void,
): YamlFile<T> | undefined {
  // With the mark, the parser takes the first line of a list for a deeper one.
  const text = whole.replace(/^\uFEFF/, '')
  const lines = new LineCounter()
  // The library's own search for repeated keys compares each key with each: 20,000 roles would take 15 seconds.
  const document = parseDocument(text, { uniqueKeys: false, strict: true, merge: false, lineCounter: lines })
  const fault = (place: Place, code: string, message: string, hint?: string): Diagnostic => ({
    ...place,
    code,
    severity: 'error',
    message,
    ...(hint ? { hint } : {}),
  })
  const at = placesIn(name, text)
  // After the first error the parser guesses how to continue, so its later errors would mislead.
  const [problem] = [...document.errors, ...document.warnings].toSorted((a, b) => a.pos[0] - b.pos[0])
  if (problem) {
    // The parser's own message is that of an overflowing stack.
    const [line = '', ...rest] = (problem.code === 'RESOURCE_EXHAUSTION' ? TOO_DEEP : problem.message).split('\n')
    const message = line.replace(/ at line \d+, column \d+:?$/, '')
    report(fault(at(problem.pos[0]), 'yaml-syntax', message, rest.length ? 'see the YAML syntax' : undefined))
    return undefined
  }
  const repeated = repeatedKeysOf(document)
  for (const offset of repeated) report(fault(at(offset), 'yaml-syntax', 'a key is repeated', 'keep one of them'))
  if (repeated.length > 0) return undefined
  const offsetOf = offsetsIn(document)
  const place = (path: Path): Place => {
    const offset = offsetOf(path)
    return offset === undefined ? { file: name, line: 1, column: 1 } : at(offset)
  }
  const aliases = aliasesOf(document)
  const refused = 'aliases (`*name`) are not accepted'
  for (const offset of aliases) report(fault(at(offset), 'yaml-alias', refused, 'write the value out'))
  if (aliases.length > 0) return undefined
  const value: unknown = document.toJS()
  // A file with nothing but comments is an empty list, or an empty mapping.
  const checked = shape(value ?? ('value' in shape([]) ? [] : {}))
  if ('value' in checked) return { value: checked.value, fault: (path, ...rest) => fault(place(path), ...rest) }
  for (const error of reportable(checked.errors)) {
    report(fault(place(pathOf(error)), 'yaml-shape', shapeSentence(error), shapeHint(error)))
  }
  return undefined
}

/** The offsets of repeated keys of a map. Two keys are the same if they become the same text: `1` and `"1"`. */
function repeatedKeysOf(document: ReturnType<typeof parseDocument>): readonly number[] {
  const offsets: number[] = []
  visit(document, {
    Map: (_key, { items }) => {
      const seen = new Set<string>()
      for (const { key } of items) {
        if (!isScalar(key)) continue
        const name = String(key.value ?? '')
        if (seen.has(name)) offsets.push(key.range?.[0] ?? 0)
        seen.add(name)
      }
    },
  })
  return offsets
}

/**
 * The offsets of the aliases. They may refer to themselves, so a document with aliases is never converted to plain
 * values.
 */
function aliasesOf(document: ReturnType<typeof parseDocument>): readonly number[] {
  const offsets: number[] = []
  visit(document, {
    Alias: (_key, { range }) => {
      offsets.push(range?.[0] ?? 0)
    },
  })
  return offsets
}

/**
 * Finds where the node at a path begins (a key of a mapping, an element of a sequence), or the nearest existing node
 * around it; undefined for none. Each mapping is searched only once, for any number of paths.
 */
function offsetsIn({ contents }: ReturnType<typeof parseDocument>): (path: Path) => number | undefined {
  const known = new Map<unknown, ReadonlyMap<string, YamlStep>>()
  const stepFrom = (parent: unknown, key: string | number): YamlStep | undefined => {
    const steps = known.get(parent) ?? stepsFrom(parent)
    known.set(parent, steps)
    return steps.get(String(key))
  }
  return (path) => {
    let [at, offset]: readonly [unknown, number | undefined] = [contents, undefined]
    for (const key of path) {
      const step = stepFrom(at, key)
      if (!step) return offset
      at = step.to
      offset = step.offset ?? offset
    }
    return offset
  }
}

interface YamlStep {
  readonly offset: number | undefined
  readonly to: unknown
}

function stepsFrom(parent: unknown): ReadonlyMap<string, YamlStep> {
  const offset = (node: unknown) => (isNode(node) ? node.range?.[0] : undefined)
  if (isSeq(parent)) return new Map(parent.items.map((item, i) => [String(i), { offset: offset(item), to: item }]))
  if (!isMap(parent)) return new Map()
  return new Map(
    parent.items.map(({ key, value }) => [
      String(isScalar(key) ? key.value : undefined),
      { offset: offset(key), to: value },
    ]),
  )
}

function pathOf({ instancePath, params, keyword, propertyName }: ErrorObject): Path {
  const path = pathOfPointer(instancePath).map((part) => (/^\d+$/.test(part) ? Number(part) : part))
  if (keyword === 'additionalProperties') return [...path, String(params.additionalProperty)]
  return propertyName === undefined ? path : [...path, propertyName]
}
