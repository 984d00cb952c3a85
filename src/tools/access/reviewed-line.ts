/** What a review of access looks at of each row of a report, and the digest that names the report by it. */
import { createHash } from 'node:crypto'
import type { ActionOf } from './of.ts'

/** Of a report of access: what one caller can do with the objects of a resource. */
export interface AccessRow extends Omit<ActionOf, 'ids'> {
  readonly resource: string
  readonly subject: string
  readonly key: string | null
  readonly roles: readonly string[]
}

/** What is reviewed of a row: who may do what, and not on how many objects. */
export interface ReviewedLine extends Pick<AccessRow, 'resource' | 'action' | 'subject' | 'key' | 'roles' | 'when'> {
  readonly fields: readonly string[]
}

export function reviewedLine({ resource, action, subject, key, roles, when, fields }: AccessRow): ReviewedLine {
  const names = [...new Set(fields.flatMap((group) => group.names))].toSorted()
  return { resource, action, subject, key, roles, when, fields: names }
}

/** SHA-256, in hex, of a JSON array a line. The console makes the same of the report that it shows. */
export function digestOfLines(lines: readonly ReviewedLine[]): string {
  const hash = createHash('sha256')
  for (const { resource, action, subject, key, roles, when, fields } of lines)
    hash.update(`${JSON.stringify([resource, action, subject, key, roles, when, fields])}\n`)
  return hash.digest('hex')
}
