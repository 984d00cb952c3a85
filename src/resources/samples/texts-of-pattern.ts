/** Short texts that fit a regular expression of a schema (flag `u`), for fields whose schema gives no `examples`. */
import regjsparser, { type AstNode } from 'regjsparser'

const FEATURES = { lookbehind: true, namedGroups: true, unicodePropertyEscape: true } as const
type Node = AstNode<typeof FEATURES>

/** What makes one text differ from the next: the branch and character chosen, and how often a part is repeated. */
interface Choice {
  /** The number of the branch or character, modulo how many there are. */
  readonly nth: number
  /** How often a part is repeated beyond the quantifier's minimum; never more than its maximum. */
  readonly more: number
}

const CHOICES: readonly Choice[] = [0, 1, 3, 8, 36].flatMap((more) => [0, 1, 2, 5].map((nth) => ({ nth, more })))

/** Characters that people read easily are taken first. */
const READABLE = [...'abcABC0123-_. @xyzXYZ456789']
const OTHERS = Array.from({ length: 0x3000 }, (_, code) => String.fromCodePoint(code))

/**
 * Texts that match, the shortest first. Empty if the pattern has parts that can't be chosen one by one, such as
 * `(?=x)`.
 */
export function textsOfPattern(pattern: string): readonly string[] {
  const tree = regjsparser.parse(pattern, 'u', FEATURES) as Node
  const whole = new RegExp(pattern, 'u')
  const texts = CHOICES.map((choice) => textOf(tree, choice))
  return [...new Set(texts)].filter((text) => whole.test(text)).sort((a, b) => a.length - b.length)
}

function textOf(node: Node, choice: Choice): string {
  switch (node.type) {
    case 'disjunction':
      return textOf(node.body[choice.nth % node.body.length] as Node, choice)
    case 'alternative':
    case 'group':
      return (node.body as readonly Node[]).map((part) => textOf(part, choice)).join('')
    case 'quantifier':
      return textOf(node.body[0], choice).repeat(Math.min(node.min + choice.more, node.max ?? Number.POSITIVE_INFINITY))
    case 'value':
      return String.fromCodePoint(node.codePoint)
    case 'anchor':
    case 'reference':
      return ''
    default:
      return characterOf(node.raw, choice)
  }
}

/** A character that a class, an escape or a dot accepts. */
function characterOf(source: string, { nth }: Choice): string {
  const one = new RegExp(`^${source}$`, 'u')
  const fitting = READABLE.filter((character) => one.test(character))
  return fitting[nth % fitting.length] ?? OTHERS.find((character) => one.test(character)) ?? ''
}
