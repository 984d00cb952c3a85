/** A piece of an OpenAPI document: a JSON object. The OpenAPI Specification defines its content. */
import type { Json } from '../../resources/resource.ts'

export type Part = { readonly [key: string]: Json }

/** Letters and digits only, each word with a capital: `/api/orders/{id}` is `ApiOrdersId`. */
export function pascal(text: string): string {
  const words = text.split(/[^A-Za-z0-9]+/).filter((word) => word !== '')
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}
