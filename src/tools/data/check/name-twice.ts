/** Finds a member that stands twice in a document: JSON.parse takes the last one, and engines take others. */
import { visit } from 'jsonc-parser'
import type { Json } from '../../../resources/resource.ts'

/** `document` is the parsed text. Text that this program wrote isn't read again. */
export function nameTwice(text: string, document: Json): boolean {
  return JSON.stringify(document) !== text && hasNameTwice(text)
}

function hasNameTwice(text: string): boolean {
  const names: Set<string>[] = []
  let found = false
  visit(text, {
    onObjectBegin: () => {
      names.push(new Set())
    },
    onObjectProperty: (name) => {
      found ||= names.at(-1)?.has(name) ?? false
      names.at(-1)?.add(name)
    },
    onObjectEnd: () => {
      names.pop()
    },
  })
  return found
}
