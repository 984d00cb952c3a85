/** What a decision reads from the store, answered from a record's facts instead. */
import type { DecisionRecord } from '../../decision-log/decision-record.ts'
import type { StoredObject } from '../../resources/object.ts'
import type { Json } from '../../resources/resource.ts'
import type { Store } from '../../store/contract.ts'

/** A decision needs what the record doesn't hold: `what` says which, for people. */
export class FactsMissing extends Error {
  constructor(what: string) {
    super(what)
    this.name = 'FactsMissing'
  }
}

type Reading = Pick<Store, 'get'>

/** `target` is the id of the object that the request was about; undefined where it was about none. */
export function recordedStore(
  { resource, subject, problem, facts }: DecisionRecord,
  target: string | undefined,
): Reading {
  return {
    async get(name, id) {
      if (name === resource && id === target) {
        if (facts?.object) return storedObject(id, { ...(id === subject ? facts.attributes : {}), ...facts.object })
        if (problem === 'object-not-found') return undefined
        throw new FactsMissing('the object was not read then')
      }
      return facts?.attributes && storedObject(id, facts.attributes)
    },
  }
}

function storedObject(id: string, fields: Readonly<Record<string, Json>>): StoredObject {
  const { createdAt, updatedAt, ...document } = fields
  return { id, version: 1, createdAt: textOf(createdAt), updatedAt: textOf(updatedAt), document }
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}
