/** An object that isn't stored here, as the asking service tells it: what callers.yaml lets count, fitted to the schema. */
import type { FieldFault } from '../../../base/problems/problem.ts'
import type { ToldObject } from '../../../decide/grants/told-object.ts'
import type { Representation, Resource } from '../../../resources/resource.ts'
import type { Asker } from '../asker.ts'
import { type Evaluation, refuseFaultyMembers } from '../entities.ts'
import type { KnownSubject } from './known-subject.ts'

/** Undefined if only a stored object counts. Throws Problem invalid-body for attributes that the schema refuses. */
export function toldObject(
  { trust }: Asker,
  resource: Resource,
  { resource: { id, properties = {} }, action }: Evaluation,
  { isTold }: KnownSubject,
): ToldObject | undefined {
  const counts = trust.words.has(resource.name)
  if (!counts) return resource.external ? { attributes: { id }, isCallerTold: isTold === true } : undefined
  if (action.properties?.body !== undefined) {
    const detail = 'is only judged for objects that are stored here'
    refuseFaultyMembers([{ pointer: '/action/properties/body', detail, code: 'not-stored' }])
  }
  const { id: _, ...attributes } = properties
  refuseFaultyMembers(faultsOf(resource, attributes).map((fault) => inEvaluation(fault)))
  return { attributes: { ...attributes, id }, isCallerTold: isTold === true }
}

/** What is missing is unknown, which is no fault. */
function faultsOf(resource: Resource, attributes: Representation): readonly FieldFault[] {
  const faults = resource.validate(attributes)
  return faults.filter(({ code, pointer }) => code !== 'required' || pointer.split('/').length > 2)
}

function inEvaluation(fault: FieldFault): FieldFault {
  return { ...fault, pointer: `/resource/properties${fault.pointer}` }
}
