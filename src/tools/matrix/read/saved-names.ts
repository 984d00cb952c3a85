/** The names of a case in its texts, and where their values come from. */
import type { Json } from '../../../resources/resource.ts'

/** A step uses a name that no step before it saved. */
export class UnknownName extends Error {
  constructor(name: string) {
    super(`no step before saves \`${name}\`, and no caller has this name`)
    this.name = 'UnknownName'
  }
}

/** `{name}` becomes its value, written for its surroundings. Throws UnknownName. */
export function fillIn(names: ReadonlyMap<string, Json>, text: string, write: (value: string) => string): string {
  return text.replace(/\{([A-Za-z][A-Za-z0-9_-]*)\}/g, (_, name: string) => {
    const value = names.get(name)
    if (value === undefined) throw new UnknownName(name)
    return write(typeof value === 'string' ? value : JSON.stringify(value))
  })
}

/** RFC 6901; undefined where there is nothing. */
export function pointedAt(json: Json | undefined, pointer: string): Json | undefined {
  const keys = pointer
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
  return keys.reduce<Json | undefined>((value, key) => {
    const inside = typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    return inside ? (value as Readonly<Record<string, Json>>)[key] : undefined
  }, json)
}
