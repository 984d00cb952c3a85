/** Every code of a schema diff. docs/changing-schemas.md lists them; a test compares it with this table. */
import type { FindingRule } from '../../../present/sarif.ts'
import { type CodeEntry, codeEntry as entry } from '../../check/check.ts'

const KEEP = 'Keep the old form beside the new one until no client needs it'
const CHECK = 'Run `sallyport data check`, and repair what it finds'
const POLICY = 'Change the policy together with the schemas'
const FREE = 'Nothing'

export const CHANGE_CODES: readonly CodeEntry[] = [
  entry('resource-removed', 'A resource is gone', KEEP),
  entry('resource-added', 'A resource is new', FREE),
  entry('route-removed', 'A path is gone', 'Redirect it with `moved`, or announce the end with `sunset`'),
  entry('route-added', 'A path is new', FREE),
  entry('method-removed', 'A path no longer accepts a method', KEEP),
  entry('method-added', 'A path accepts another method', FREE),
  entry('view-changed', 'A path shows another view, so it may show other fields', KEEP),
  entry('action-changed', 'Other rules decide about a path', 'Give the rules of the policy the new action'),
  entry('route-moved', 'A path has become a redirect, or leads elsewhere', KEEP),
  entry('route-retired', 'The deprecation or the sunset of a path has changed', FREE),
  entry('precondition-added', 'Writes need `If-Match` now', KEEP),
  entry('precondition-removed', 'Writes no longer need `If-Match`', FREE),
  entry('field-removed', 'A field is gone', KEEP),
  entry('field-added', 'A field is new', FREE),
  entry('field-read-only', 'Clients can no longer set a field', KEEP),
  entry('field-writable', 'Clients can set a field that only the server set', FREE),
  entry('filter-removed', 'Lists can no longer filter and sort by a field', 'Keep `x-index`'),
  entry('filter-added', 'Lists can filter and sort by a field', FREE),
  entry('unique-added', 'A second object with the same value is refused', KEEP),
  entry('unique-removed', 'Two objects may have the same value', FREE),
  entry('default-changed', 'An absent field gets another default, or none', FREE),
  entry('send-required', 'Clients must send a value that they could omit', 'Give the field a `default`'),
  entry('send-refused', 'Clients may send a member that is no longer accepted', KEEP),
  entry('send-narrowed', 'Clients may send a value that is no longer accepted', KEEP),
  entry('read-optional', 'Answers may lack a value that they always had', KEEP),
  entry('read-widened', 'Answers may have a value that clients could not meet before', KEEP),
  entry('data-removed', 'Stored objects may have a field that is gone', CHECK),
  entry('data-required', 'Stored objects may lack a value that is required now', CHECK),
  entry('data-unique', 'Stored objects may share a value that must be unique now', CHECK),
  entry('data-misfit', 'Stored objects may have a value that no longer fits', CHECK),
  entry('data-unreachable', 'No request reaches the stored objects of a removed resource', CHECK),
  entry('policy-error', 'The server would refuse the policy files with the new schemas', POLICY),
  entry('policy-warning', 'A warning of `policy check` is new with the new schemas', POLICY),
  entry('matrix-outdated', 'A matrix names what is gone', 'Change the matrix together with the schemas'),
]

/** As SARIF lists them. */
export const CHANGE_RULES: readonly FindingRule[] = CHANGE_CODES.map((one) => ({ ...one, severity: 'error' }))
