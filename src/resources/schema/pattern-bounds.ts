/** Whether a regular expression of a schema (flag `u`) fits short texts alone, as `^[A-Z]{3}$` does. */
import regjsparser, { type AstNode } from 'regjsparser'

const FEATURES = { lookbehind: true, namedGroups: true, unicodePropertyEscape: true } as const
type Node = AstNode<typeof FEATURES>

/** JSON Schema looks for the pattern anywhere in the text, so it bounds a text only from its start to its end. */
export function boundsText(pattern: string): boolean {
  const tree = regjsparser.parse(pattern, 'u', FEATURES) as Node
  return isAnchored(tree, 'start') && isAnchored(tree, 'end') && isShort(tree)
}

function isAnchored(node: Node, edge: 'start' | 'end'): boolean {
  switch (node.type) {
    case 'anchor':
      return node.kind === edge
    case 'disjunction':
      return (node.body as readonly Node[]).every((branch) => isAnchored(branch, edge))
    case 'alternative':
    case 'group': {
      const part = isLookaround(node) ? undefined : (node.body as readonly Node[]).at(edge === 'start' ? 0 : -1)
      return part !== undefined && isAnchored(part, edge)
    }
    default:
      return false
  }
}

/** A reference repeats a group, which is short too. */
function isShort(node: Node): boolean {
  switch (node.type) {
    case 'quantifier':
      return node.max !== undefined && isShort(node.body[0])
    case 'disjunction':
    case 'alternative':
    case 'group':
      return isLookaround(node) || (node.body as readonly Node[]).every(isShort)
    default:
      return true
  }
}

/** It takes no character of the text. */
function isLookaround(node: Node): boolean {
  return node.type === 'group' && node.behavior !== 'normal' && node.behavior !== 'ignore'
}
