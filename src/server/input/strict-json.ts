/**
 * Bytes -> JSON, as strict as I-JSON (RFC 7493): UTF-8 without a byte order mark, no duplicate names, no number that a
 * double would round, no lone surrogates; and no U+0000, which not every store can keep. Nesting is bounded.
 */
import { type JSONVisitor, type ParseErrorCode, visit } from 'jsonc-parser'
import { placeAt } from '../../base/diagnostic.ts'
import { Problem } from '../../base/problems/problem.ts'
import type { Json } from '../../resources/resource.ts'
import { syntaxFault } from '../../resources/schema/schema-file.ts'

const MAX_DEPTH = 32

/** Throws Problem invalid-json, saying line and column. */
export function parseStrictJson(bytes: Uint8Array): Json {
  const text = decodeUtf8(bytes)
  visit(text, strictVisitor(text), { disallowComments: true, allowTrailingComma: false, allowEmptyContent: false })
  return JSON.parse(text) as Json
}

function decodeUtf8(bytes: Uint8Array): string {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw new Problem('invalid-json', 'The body is not UTF-8; send it as UTF-8.', { cause })
  }
  if (text.startsWith('\uFEFF')) throw new Problem('invalid-json', 'The body begins with a byte order mark; remove it.')
  return text
}

/** Throws at the first fault, so a hostile text isn't read further. */
function strictVisitor(text: string): JSONVisitor {
  const names: Set<string>[] = []
  let depth = 0
  const refuse = (offset: number, what: string): never => {
    const { line, column } = placeAt('', text, offset)
    throw new Problem('invalid-json', `The body is not strict JSON; correct ${what} at line ${line}, column ${column}.`)
  }
  const enter = (offset: number) => {
    depth++
    if (depth > MAX_DEPTH) refuse(offset, `the nesting deeper than ${MAX_DEPTH} levels`)
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
