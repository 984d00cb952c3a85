/** The names of the policy in a schema file: views and actions of its routes. */
import { basename } from 'node:path'
import { findNodeAtLocation, type Node, parseTree } from 'jsonc-parser'
import type { SourceFile } from '../../base/diagnostic.ts'
import { firstTooDeep } from '../../resources/schema/schema-file.ts'
import { type NameSlot, slotsIn } from './name-slot.ts'

export function slotsOfSchema({ name, text }: SourceFile): readonly NameSlot[] {
  const root = treeOf(text)
  const routes = (root && findNodeAtLocation(root, ['x-resource', 'routes'])?.children) ?? []
  const about = [basename(name, '.json')]
  return routes.flatMap((route) => {
    const slots = (key: 'view' | 'action') => {
      const node = findNodeAtLocation(route, [key])
      return node && isPlain(node, text) ? slotsIn(node.value, node.offset + 1, undefined, { kinds: [key], about }) : []
    }
    return [...slots('view'), ...slots('action')]
  })
}

/** Undefined for a text whose tree would be too deep to be walked. */
export function treeOf(text: string): Node | undefined {
  return firstTooDeep(text) === undefined ? parseTree(text) : undefined
}

/** Without escapes, so that the text is the name. */
function isPlain({ type, value, offset, length }: Node, text: string): boolean {
  return type === 'string' && text.slice(offset + 1, offset + length - 1) === value
}
