/** One value of a YAML file at a time, written otherwise; the rest of the file stays as it is. */
import { type Document, isNode, LineCounter, parseDocument } from 'yaml'
import type { PolicyFiles, RequiredFileName } from '../../../policy/policy-files.ts'
import type { Mutant, Operator } from './mutants.ts'

export interface YamlEdit {
  readonly operator: Operator
  readonly file: RequiredFileName
  /** Keys and indexes from the root. */
  readonly path: readonly [resource: string, ...keys: string[]]
  readonly to: unknown
}

export function withValue(files: PolicyFiles, { operator, file, path, to }: YamlEdit): Mutant {
  const { name, text } = files[file]
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines })
  const line = lineOf(document, path, lines)
  const before = document.getIn(path)
  const from = before === undefined ? 'nothing' : JSON.stringify(plain(before))
  document.setIn(path, document.createNode(to, { flow: true }))
  const change = `${path.join('.')}: ${from} -> ${JSON.stringify(to)}`
  return {
    operator,
    file,
    line,
    resource: path[0],
    change,
    files: { ...files, [file]: { name, text: document.toString() } },
  }
}

function plain(value: unknown): unknown {
  return isNode(value) ? value.toJSON() : value
}

/** Of the value, or of what is around it where there is none yet. */
function lineOf(document: Document, path: readonly (string | number)[], lines: LineCounter): number {
  for (let length = path.length; length > 0; length--) {
    const node = document.getIn(path.slice(0, length), true)
    if (isNode(node) && node.range) return lines.linePos(node.range[0]).line
  }
  return 1
}
