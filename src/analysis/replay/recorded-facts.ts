/** A recorded request, and the objects that its decision reads: from the record's facts instead of the store. */
import type { Caller } from '../../decide/caller.ts'
import type { DecisionRecord } from '../../decision-log/decision-record.ts'
import type { StoredObject } from '../../resources/object.ts'
import type { Endpoint, Json, Resource, Route } from '../../resources/resource.ts'

export interface RecordedRequest {
  readonly route: Route
  readonly endpoint: Endpoint
  readonly resource: Resource
  readonly id: string | undefined
  readonly caller: Caller | undefined
}

/** A decision needs something that the record doesn't hold; the message says this for people. */
export class FactsMissing extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'FactsMissing'
  }
}

/** The record holds the object, but not this answer about it. `what` completes "the record doesn't hold". */
export class AnswerMissing extends FactsMissing {
  constructor(what: string) {
    super(`the record doesn't hold ${what}`)
    this.name = 'AnswerMissing'
  }
}

/** The object that the request names. Throws FactsMissing. */
export function recordedObject({ problem, facts }: DecisionRecord, id: string): StoredObject | undefined {
  if (facts?.object) return storedObject(id, facts.object)
  if (problem === 'object-not-found') return undefined
  throw new FactsMissing('the object was not read then')
}

function storedObject(id: string, fields: Readonly<Record<string, Json>>): StoredObject {
  const { createdAt, updatedAt, ...document } = fields
  return { id, version: 1, createdAt: textOf(createdAt), updatedAt: textOf(updatedAt), document }
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}
