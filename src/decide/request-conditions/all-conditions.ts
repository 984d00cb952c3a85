/** Conditions of a request, of every kind. A new kind is a new file and a line in `KINDS`. */

import { type Asserted, asserted } from './asserted.ts'
import type { ConditionFacts, ConditionFault, ConditionKind } from './condition-kind.ts'
import { type CredentialKind, credential } from './credential.ts'
import { type Hours, hours } from './hours.ts'
import { type Network, network } from './network.ts'
import { type SignedIn, signedIn } from './signed-in.ts'

export type RequestCondition = Network | Hours | SignedIn | CredentialKind | Asserted

const KINDS: Readonly<Record<RequestCondition['kind'], ConditionKind<RequestCondition>>> = {
  network,
  hours,
  signedIn,
  credential,
  asserted,
}

/** Makes a condition from its form in conditions.yaml; undefined if there was a fault, which is reported to `fault`. */
export function parseCondition(name: string, form: object, fault: ConditionFault): RequestCondition | undefined {
  const kind = Object.values(KINDS).find(({ isForm }) => isForm(form))
  if (!kind) throw new Error(`no kind of condition has the form of ${name}, which the JSON schema lets pass`)
  return kind.parse(name, form, fault)
}

export function conditionHolds(condition: RequestCondition, facts: ConditionFacts): boolean {
  return KINDS[condition.kind].holds(condition, facts)
}

/** Whether it holds for nobody without credentials. */
export function conditionNeedsCaller({ kind }: RequestCondition): boolean {
  return KINDS[kind].needsCaller
}

/** The condition in words: `the address is in 192.0.2.0/24`. */
export function describeCondition(condition: RequestCondition): string {
  return KINDS[condition.kind].describe(condition)
}

/** A text that is equal for conditions that hold for the same requests, whatever their names. */
export function meaningOfCondition(condition: RequestCondition): string {
  return KINDS[condition.kind].meaning(condition)
}

/** Whether each request that meets the first also meets the second; false where this isn't known. */
export function isConditionWithin(one: RequestCondition, other: RequestCondition): boolean {
  return one.kind === other.kind && KINDS[one.kind].isWithin(one, other)
}

/** Forms that somebody could have written by mistake. */
export function conditionMistakes(condition: RequestCondition): readonly unknown[] {
  return KINDS[condition.kind].mistakes(condition)
}
