/** The ids that objects of an import get, and the fields that name them. */
import type { Json, Representation, Resource } from '../../../resources/resource.ts'
import type { NamingField } from '../../references.ts'
import type { ImportRow, Survey } from './read-rows.ts'

/** A row that can't be sent: why, or the resource and id that must be written first. */
export type Mapped =
  | { readonly kind: 'body'; readonly body: Representation }
  | { readonly kind: 'unwritten'; readonly why: string }
  | { readonly kind: 'waits' }

export class IdMap {
  readonly #lines: Survey['lines']
  /** Resource -> id in the file -> new id. */
  readonly #ids = new Map<string, Map<string, string>>()
  readonly #pending = new Set<string>()

  constructor({ lines }: Survey) {
    this.#lines = lines
    for (const name of lines.keys()) this.#ids.set(name, new Map())
  }

  begin({ resource, object }: ImportRow): void {
    this.#pending.add(keyOf(resource.name, object.id))
  }

  /** `id`: the new one; undefined if the row wasn't written. */
  settle({ resource, object }: ImportRow, id: string | undefined): void {
    this.#pending.delete(keyOf(resource.name, object.id))
    if (id !== undefined && typeof object.id === 'string') this.#ids.get(resource.name)?.set(object.id, id)
  }

  /** The body of the POST: without the server's fields, and with new ids for objects of the file. */
  bodyOf(row: ImportRow, named: readonly NamingField[]): Mapped {
    const body: Record<string, Json> = withoutServerFields(row.resource, row.object)
    for (const { field, to } of named) {
      const value = Object.hasOwn(body, field) ? body[field] : undefined
      if (value === undefined) continue
      const ids = Array.isArray(value) ? value : [value]
      if (ids.some((id) => this.#pending.has(keyOf(to, id)))) return { kind: 'waits' }
      const unwritten = ids.flatMap((id) => this.#lineOfUnwritten(to, id) ?? [])[0]
      if (unwritten !== undefined) return { kind: 'unwritten', why: whyUnwritten(field, unwritten, row.line) }
      const mapped = ids.map((id) => this.#newId(to, id) ?? id)
      body[field] = Array.isArray(value) ? mapped : (mapped[0] ?? null)
    }
    return { kind: 'body', body }
  }

  /** Undefined for an object that isn't in the file: it keeps its id. */
  #lineOfUnwritten(resource: string, id: Json): number | undefined {
    const line = typeof id === 'string' ? this.#lines.get(resource)?.get(id) : undefined
    return this.#newId(resource, id) === undefined ? line : undefined
  }

  #newId(resource: string, id: Json): string | undefined {
    return typeof id === 'string' ? this.#ids.get(resource)?.get(id) : undefined
  }
}

function whyUnwritten(field: string, at: number, line: number): string {
  if (at === line) return `\`${field}\` names the object itself, whose new id is not known yet: remove the value`
  if (at > line) return `\`${field}\` names the object of line ${at}: move that line before this one`
  return `\`${field}\` names the object of line ${at}, which was not written`
}

function withoutServerFields({ fields }: Resource, object: Representation): Record<string, Json> {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !fields.get(name)?.readOnly))
}

function keyOf(resource: string, id: Json | undefined): string {
  return JSON.stringify([resource, id ?? null])
}
