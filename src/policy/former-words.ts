/**
 * Words of policy files that a later version replaced. For one release, a former word means what the new one means;
 * `policy check` and the server's log name each, and `policy check --fix` writes the new one.
 */
import { isPair, isScalar, type Pair, parseDocument, visit } from 'yaml'
import { byText } from '../base/by-text.ts'
import { type Place, placesIn, type SourceFile } from '../base/diagnostic.ts'
import type { PolicyFiles } from './policy-files.ts'

export interface FormerWord extends Place {
  /** From the beginning of the file's text. */
  readonly offset: number
  readonly former: string
  readonly now: string
}

/** `keys`: the names that lead to the word; the last one is the word itself if it is a name. */
interface FormerName {
  readonly file: 'callers.yaml' | 'conditions.yaml'
  readonly former: string
  readonly now: string
  readonly isHere: (keys: readonly unknown[], isName: boolean) => boolean
}

const FORMER_NAMES: readonly FormerName[] = [
  {
    file: 'callers.yaml',
    former: 'word',
    now: 'asserted',
    isHere: (keys, isName) => keys[1] === (isName ? 'subjects' : 'resources') && keys.length === (isName ? 4 : 3),
  },
  { file: 'conditions.yaml', former: 'told', now: 'asserted', isHere: (keys, isName) => isName && keys.length === 2 },
]

/** Codes of findings, which `check-ignore` comments name. */
export const FORMER_CODES: ReadonlyMap<string, string> = new Map([
  ['caller-word-privileged', 'caller-asserted-privileged'],
])

/** `files` must have been parsed without a fault. */
export function findFormerWords(files: PolicyFiles): readonly FormerWord[] {
  const names = FORMER_NAMES.flatMap((name) => {
    const source = files[name.file]
    return source?.text.includes(name.former) ? namesIn(source, name) : []
  })
  return [...names, ...Object.values(files).flatMap(codesIn)].toSorted(inOrder)
}

function namesIn({ name, text }: SourceFile, { former, now, isHere }: FormerName): readonly FormerWord[] {
  const at = placesIn(name, text)
  const found: FormerWord[] = []
  visit(parseDocument(text), {
    Scalar(role, { value, range }, around) {
      const pairs = around.filter((node): node is Pair => isPair(node))
      const keys = pairs.map(({ key }) => (isScalar(key) ? key.value : undefined))
      if (value !== former || !range || !isHere(keys, role === 'key')) return
      // Within quotes, if the word is quoted. A word with escapes stands nowhere as it is, so it can't be replaced.
      const offset = text.indexOf(former, range[0])
      if (offset < 0 || offset >= range[1]) return
      found.push({ ...at(offset), offset, former, now })
    },
  })
  return found
}

function inOrder(one: FormerWord, other: FormerWord): number {
  return byText(one.file, other.file) || one.offset - other.offset
}

function codesIn({ name, text }: SourceFile): readonly FormerWord[] {
  const at = placesIn(name, text)
  return [...FORMER_CODES].flatMap(([former, now]) => {
    if (!text.includes(former)) return []
    const comments = text.matchAll(new RegExp(`(?<=#[ \\t]*check-ignore[ \\t]+)${former}(?=[ \\t]*:)`, 'g'))
    return Array.from(comments, ({ index }) => ({ ...at(index), offset: index, former, now }))
  })
}

/** The text with the new words. */
export function withoutFormerWords(text: string, words: readonly FormerWord[]): string {
  const last = words.toSorted((a, b) => b.offset - a.offset)
  return last.reduce((all, { offset, former, now }) => {
    return `${all.slice(0, offset)}${now}${all.slice(offset + former.length)}`
  }, text)
}
