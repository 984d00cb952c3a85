/** Checks that every regular expression of a schema compiles, and that no value of a client can make it slow. */
import { isSafePattern } from 'redos-detector'
import type { Diagnostic } from '../../base/diagnostic.ts'
import { isObject } from '../../base/is-object.ts'
import type { Path } from '../../base/json-pointer.ts'
import type { SchemaFile } from '../schema/schema-file.ts'
import { allSubschemas, type Subschema } from '../schema/subschemas.ts'

/** How often the engine may return to one character; more often (or without end) is slow on a long string. */
const MAX_BACKTRACKS = 50
/** The search stops after this many steps (about a second and 100 MB), and the pattern is refused. */
const MAX_STEPS = 8_000
const MAX_LENGTH = 500

export function checkPatterns(file: SchemaFile): readonly Diagnostic[] {
  if (!isObject(file.json)) return []
  return allSubschemas(file.json).flatMap((one) => [...patternFaults(file, one), ...nameFaults(file, one)])
}

/** A letter, a class or the like that has no quantifier. */
const ONE = String.raw`(?:[\w@#:;,_ -]|\\[dDwWsS./-]|\\[pP]\{\w+\}|\[(?:\\.|[^\]\\])+\])`

/**
 * A fixed number of characters, and the last one may repeat: the engine never returns to a character, so no search is
 * needed.
 */
const SIMPLE = new RegExp(`^\\^(?:${ONE}(?:\\{\\d{1,2}\\})?)*(?:${ONE}(?:[*+?]|\\{\\d{1,4},\\d{0,4}\\}))?\\$$`, 'u')

/** Results by pattern: many schemas share a pattern, and the search takes milliseconds. */
const found = new Map<string, boolean>()

/**
 * The fault of a pattern: it can't be compiled, or may be slow. Any doubt counts as slow. Undefined without a fault.
 */
export function patternFault(pattern: string): 'pattern-syntax' | 'pattern-slow' | undefined {
  if (!compiles(pattern)) return 'pattern-syntax'
  const fast = found.get(pattern) ?? isProvablyFast(pattern)
  found.set(pattern, fast)
  return fast ? undefined : 'pattern-slow'
}

function patternFaults(file: SchemaFile, { path, schema }: Subschema): readonly Diagnostic[] {
  const pattern = isObject(schema) ? schema.pattern : undefined
  return typeof pattern === 'string' ? describe(pattern, [...path, 'pattern'], file.fault) : []
}

function nameFaults(file: SchemaFile, { path, schema }: Subschema): readonly Diagnostic[] {
  const named = isObject(schema) ? schema.patternProperties : undefined
  if (!isObject(named)) return []
  return Object.keys(named).flatMap((name) => describe(name, [...path, 'patternProperties', name], file.faultAtKey))
}

function describe(pattern: string, path: Path, fault: SchemaFile['fault']): readonly Diagnostic[] {
  const code = patternFault(pattern)
  if (code === undefined) return []
  const sentence = code === 'pattern-syntax' ? 'is not a regular expression' : 'can take very long on a long string'
  return [fault(path, code, `the pattern \`${pattern}\` ${sentence}`)]
}

function compiles(pattern: string): boolean {
  try {
    new RegExp(pattern, 'u')
    return true
  } catch {
    return false
  }
}

/** Most patterns have this form. The search would find nothing in them either, but takes milliseconds. */
export function isSimple(pattern: string): boolean {
  return SIMPLE.test(pattern)
}

function isProvablyFast(pattern: string): boolean {
  if (pattern.length > MAX_LENGTH || !isPlain(pattern)) return false
  if (isSimple(pattern)) return true
  try {
    return isSafePattern(pattern, { unicode: true, maxScore: MAX_BACKTRACKS, maxSteps: MAX_STEPS }).safe
  } catch {
    return false
  }
}

/**
 * The detector has no look-behind, and assumes that an assertion without width (`\b`, `(?=x)`, a `^` that isn't first)
 * can't fail: it calls `^(?:b+)+(?=x)` safe. Without these it agrees with recheck on 6,000 random patterns.
 */
function isPlain(pattern: string): boolean {
  const withoutClasses = pattern.replace(/\\[^bBk1-9]|\[(?:\\.|[^\]\\])*\]/gsu, '_')
  return !/\\|(?!^)\^|\(\?(?!:)/u.test(withoutClasses)
}
