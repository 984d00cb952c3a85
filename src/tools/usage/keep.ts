/** Reads the file of --keep: lines of policy.csv that stay, with a reason and an owner. */
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { refuseFaults, type SourceFile } from '../../base/diagnostic.ts'
import { didYouMean } from '../../base/did-you-mean.ts'
import { shapeOf } from '../../base/shape-of.ts'
import { parseYaml } from '../../base/yaml-file.ts'
import { readRuleLines } from '../../policy/parse/rule-lines.ts'
import { ToolError } from '../load-policy.ts'
import { withCells } from '../matrix/mutate/mutants.ts'

export interface KeptLine {
  readonly line: string
  readonly reason: string
  readonly owner: string
}

// docs/ is beside src/ in a checkout, and beside dist/ in the package.
const SCHEMA = new URL('../../../docs/schemas/policy-keep.schema.json', import.meta.url)

/** By the number of the line in `rules`. Throws FileError, with everything that is wrong. */
export async function readKeep(path: string, rules: SourceFile): Promise<ReadonlyMap<number, KeptLine>> {
  const text = await readFile(path, 'utf8').catch(() => undefined)
  if (text === undefined) throw new ToolError(`${path} can't be read: name a YAML file of lines that stay`)
  const source = { name: path, text }
  return refuseFaults(async (report) => {
    const shape = shapeOf<readonly KeptLine[]>(JSON.parse(readFileSync(SCHEMA, 'utf8')))
    const file = parseYaml(source, shape, report)
    const lines = linesOf(rules)
    const kept = new Map<number, KeptLine>()
    if (!file) return kept
    for (const [i, entry] of file.value.entries()) {
      const fault = faultOf(entry, { lines, kept, name: rules.name })
      if (fault) report(file.fault([i, 'line'], ...fault))
      for (const [text, number] of lines) if (text === textOf(entry)) kept.set(number, entry)
    }
    return kept
  })
}

/** Each with its number. Lines with the same cells have the same text. */
function linesOf(rules: SourceFile): readonly (readonly [text: string, number: number])[] {
  return [...readRuleLines(rules, () => undefined)].map(({ line, cells }) => [withCells(cells), line] as const)
}

function textOf({ line }: KeptLine): string {
  const [[text] = [line]] = linesOf({ name: '', text: line })
  return text
}

interface KeepVocabulary {
  readonly lines: readonly (readonly [text: string, number: number])[]
  readonly kept: ReadonlyMap<number, KeptLine>
  readonly name: string
}

function faultOf(
  entry: KeptLine,
  { lines, kept, name }: KeepVocabulary,
): [code: string, message: string, hint: string] | undefined {
  const text = textOf(entry)
  const found = lines.filter(([one]) => one === text)
  if (found.length === 0) {
    const texts = lines.map(([one]) => one)
    return ['keep-unknown', `the policy has no line \`${text}\``, `copy a line of ${name}${didYouMean(text, texts)}`]
  }
  if (found.some(([, number]) => kept.has(number)))
    return ['keep-twice', 'the line is kept already', 'remove one of the entries']
  return undefined
}
