/** What is wrong with one stored row by itself. */
import { isObject } from '../../../base/is-object.ts'
import { faultsAsStored } from '../../../decide/permits/propose.ts'
import { represent } from '../../../resources/object.ts'
import type { Json, Representation, Resource } from '../../../resources/resource.ts'
import type { StoredRow } from '../../../store/object-reader.ts'
import { nameTwice } from './name-twice.ts'
import type { Reason } from './tally.ts'

export interface CheckedRow {
  readonly row: StoredRow
  readonly reasons: readonly Reason[]
  /** Undefined if the document is no JSON object. */
  readonly object: Representation | undefined
}

export function checkRow(resource: Resource, row: StoredRow): CheckedRow {
  const document = parsed(row.text)
  if (document === undefined) {
    return { row, reasons: [{ code: 'document-not-json', message: 'the document is not JSON' }], object: undefined }
  }
  if (!isObject(document)) {
    const message = 'the document is JSON, but not an object'
    return { row, reasons: [{ code: 'document-not-object', message }], object: undefined }
  }
  const object = represent({ ...row, document })
  const reasons = [
    ...misfits(resource, object),
    ...(nameTwice(row.text, document) ? [TWICE] : []),
    ...(row.version >= 1 && Number.isSafeInteger(row.version) ? [] : [VERSION]),
    ...row.disagreeing.map(disagreement),
  ]
  return { row, reasons, object }
}

const TWICE: Reason = { code: 'document-name-twice', message: 'the document has a member twice' }
const VERSION: Reason = { code: 'version-invalid', message: 'the version is not a whole number from 1 on' }

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A reason once, however many members of a list have it. */
function misfits(resource: Resource, object: Representation): readonly Reason[] {
  const faults = faultsAsStored(resource, object)
  const reasons = faults.map(({ pointer, detail, code }): Reason => {
    const place = pointer.replaceAll(/\/\d+(?=\/|$)/g, '/*')
    const what = place === '' ? 'the object' : `\`${place}\``
    return { code: 'schema-misfit', pointer: place, keyword: code, message: `${what} ${detail}` }
  })
  if (reasons.length < 2) return reasons
  return [...new Map(reasons.map((one) => [one.message, one])).values()]
}

function disagreement(field: string): Reason {
  const message = `lists and relations find the object by another value of \`${field}\` than the document has`
  return { code: 'index-disagrees', pointer: `/${field}`, message }
}
