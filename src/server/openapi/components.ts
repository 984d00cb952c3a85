/**
 * The reusable parts of one document, collected while it is made. Equal parts are stored once, different parts under
 * different names.
 */
import { isDeepStrictEqual } from 'node:util'
import { byText } from '../../base/by-text.ts'
import type { Json } from '../../resources/resource.ts'

type ComponentKind = 'schemas' | 'responses' | 'parameters' | 'headers'

export class Components {
  readonly #kinds: Readonly<Record<ComponentKind, Map<string, Part>>> = {
    schemas: new Map(),
    responses: new Map(),
    parameters: new Map(),
    headers: new Map(),
  }

  readonly #made = new Map<string, Part>()

  /** A reference to the part, under this name or, if another part has the name, with a number appended. */
  add(kind: ComponentKind, name: string, part: Part): Part {
    const parts = this.#kinds[kind]
    for (let number = 1; ; number++) {
      const candidate = number === 1 ? name : `${name}${number}`
      const known = parts.get(candidate)
      if (known !== undefined && !isDeepStrictEqual(known, part)) continue
      parts.set(candidate, part)
      return { $ref: `#/components/${kind}/${candidate}` }
    }
  }

  /** The same, for a part that many operations have: it is made once. The key says what it is made from. */
  addOnce(
    kind: ComponentKind,
    { name, key, make }: { readonly name: string; readonly key: string; make(): Part },
  ): Part {
    const known = this.#made.get(key) ?? this.add(kind, name, make())
    this.#made.set(key, known)
    return known
  }

  /** A schema under its title. */
  addTitled({ title, ...schema }: Part): Part {
    return this.add('schemas', String(title), schema)
  }

  /** For a schema that may contain itself: reserves the name before the schema is made. */
  addRecursive(name: string, make: (reference: Part) => Part): Part {
    const { schemas } = this.#kinds
    let free = name
    for (let number = 2; schemas.has(free); number++) free = `${name}${number}`
    const reference = { $ref: `#/components/schemas/${free}` }
    schemas.set(free, {})
    schemas.set(free, make(reference))
    return reference
  }

  /** Sorted by name, so that the order of additions doesn't matter. */
  get part(): Part {
    const kinds = Object.entries(this.#kinds).filter(([, parts]) => parts.size > 0)
    return Object.fromEntries(kinds.map(([kind, parts]) => [kind, sorted(parts)]))
  }
}

function sorted(parts: ReadonlyMap<string, Part>): Part {
  return Object.fromEntries([...parts].toSorted(([a], [b]) => byText(a, b)))
}

export type Part = { readonly [key: string]: Json }

/** Letters and digits only, each word with a capital: `/api/orders/{id}` is `ApiOrdersId`. */
export function pascal(text: string): string {
  const words = text.split(/[^A-Za-z0-9]+/).filter((word) => word !== '')
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}
