/** Keeps the documents of callers: each is made once for each policy and set of roles, and dropped with the policy. */

import type { Caller } from '../../decide/caller.ts'
import type { Subject } from '../../decide/grants/subjects.ts'
import type { Snapshot } from '../../decide/snapshot.ts'
import type { Resources } from '../../resources/resource.ts'
import { accessOf } from './access.ts'
import { makeDocument } from './document.ts'
import type { PolicyOrigin } from './parameters.ts'

/** The document of the caller's operations, as JSON text. */
export type Describe = (snapshot: Snapshot, caller: Caller | undefined) => Promise<string>

/** The number of sets of roles whose documents are kept. */
const REMEMBERED = 100

export function createDescribe(resources: Resources, origin: PolicyOrigin): Describe {
  const documentOf = async (snapshot: Snapshot, subject: Subject) =>
    JSON.stringify(await makeDocument(await accessOf(snapshot, subject, resources), resources, origin))
  const bySnapshot = new WeakMap<Snapshot, Map<string, Promise<string>>>()
  return (snapshot, caller) => {
    const known = bySnapshot.get(snapshot) ?? new Map<string, Promise<string>>()
    bySnapshot.set(snapshot, known)
    const subject = snapshot.subjectOf(caller)
    const key = keyOf(subject)
    const made = known.get(key) ?? documentOf(snapshot, subject)
    known.set(key, made)
    made.catch(() => known.delete(key))
    const oldest = known.keys().next().value
    if (known.size > REMEMBERED && oldest !== undefined) known.delete(oldest)
    return made
  }
}

/** Callers with the same key have the same document. */
function keyOf({ caller, names, roles }: Subject): string {
  return JSON.stringify([caller !== undefined, names, [...roles].sort()])
}
