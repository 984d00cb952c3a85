/** An object of a resource, as a store keeps it and as an answer shows it. */
import type { Json, Representation } from './resource.ts'

/** A value that a field can be compared with. */
export type Scalar = string | number | boolean

export function isScalar(value: unknown): value is Scalar {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}

/** The fields that clients and defaults gave; without `id`, `createdAt` and `updatedAt`. */
export type Document = Readonly<Record<string, Json>>

export interface StoredObject {
  readonly id: string
  /** Counts from 1; every update adds 1. */
  readonly version: number
  /** RFC 3339, UTC, milliseconds. */
  readonly createdAt: string
  readonly updatedAt: string
  readonly document: Document
}

/** The part of a representation that is stored as the document. */
export function documentPart({ id, createdAt, updatedAt, ...document }: Representation): Document {
  return document
}

export function represent(object: Omit<StoredObject, 'version'>): Representation {
  return { id: object.id, ...object.document, createdAt: object.createdAt, updatedAt: object.updatedAt }
}

/** The texts of a list; none in any other value, such as the roles of a users record whose schema is another one. */
export function textsAmong(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}

/** RFC 6902 section 4.6: numbers by value (-0 is 0), members in any order. */
export function sameJson(a: Json, b: Json): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const names = Object.keys(a)
  if (names.length !== Object.keys(b).length) return false
  // An array's elements are members by index here.
  const [left, right] = [a as Representation, b as Representation]
  return names.every((name) => Object.hasOwn(b, name) && sameJson(left[name] as Json, right[name] as Json))
}
