/** Why a decision is false: stable codes, for services that ask (docs/authzen.md has the table). */
import type { Refusal } from '../../decide/refusal.ts'

export const DENIAL_REASONS = {
  'subject-type': 'this service may not ask about subjects of this type',
  'subject-unknown': 'the directory has no such subject',
  'subject-disabled': 'the subject is disabled',
  'subject-blocked': 'blocked.txt names the subject',
  'subject-token': 'the token of the subject is missing, not valid, or of somebody else',
  'subject-named': 'a rule names the subject by its id, so the word of this service does not count',
  'resource-unknown': 'no schema declares the type of the resource',
  'action-unknown': 'no route of the resource has the action',
  'object-missing': 'there is no such object, or the subject must not learn that it exists',
  'not-granted': 'no rule grants the action to the subject on any such object',
  'not-granted-here': 'no rule grants the action to the subject on this object',
  'fields-refused': 'the subject may not use a field that was asked about',
  'partly-granted': 'the subject may use some of the fields; ask with `context.fields`',
  'attributes-missing': 'the decision depends on attributes that were not told',
  'condition-unknown': 'the decision depends on a condition of the request that is not known',
  'body-needed': 'the decision depends on the values after the change; send `action.properties.body`',
  'body-invalid': 'the policy allows the change, but the object would not fit its schema or its largest size',
  'item-invalid': 'the item of the request is not an evaluation',
} as const

export type DenialReason = keyof typeof DENIAL_REASONS

const BY_CHECK: Readonly<Record<Refusal['check'], DenialReason>> = {
  blocked: 'subject-blocked',
  'own-record': 'object-missing',
  role: 'not-granted',
  missing: 'object-missing',
  object: 'not-granted-here',
  concealed: 'object-missing',
  write: 'fields-refused',
  read: 'fields-refused',
  schema: 'body-invalid',
  size: 'body-invalid',
}

export function denialReasonOf({ check }: Refusal): DenialReason {
  return BY_CHECK[check]
}
