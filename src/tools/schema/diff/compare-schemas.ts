/** Compares two folders of schemas: what the change means for clients, for stored data, and for policies. */
import { byPlace, type Place } from '../../../base/diagnostic.ts'
import { pointerOfPath } from '../../../base/json-pointer.ts'
import { say } from '../../../present/phrase.ts'
import { storedFit } from '../../../resources/fit/stored-fit.ts'
import type { Resource } from '../../../resources/resource.ts'
import type { PolicyPlace } from '../../load-policy.ts'
import { dataChange } from './compare-data.ts'
import { compareFields } from './compare-fields.ts'
import { compareMatrices, comparePolicyFindings, fillingOf, type OtherPolicy } from './compare-policy.ts'
import { compareRoutes } from './compare-routes.ts'
import { compareValues, type Filling } from './compare-values.ts'
import { placeOf } from './places.ts'
import { readSchemaSide, type SchemaSide } from './read-schemas.ts'
import { CONCERNS, type Concern, type SchemaChange, type SchemaDiff, type Unplaced } from './schema-change.ts'

export interface DiffOptions {
  readonly before: string
  readonly after: string
  /** The folder of schemas in a revision without a path. */
  readonly schemas: string
  readonly policies: PolicyPlace
  /** The policy that belongs to the schemas of `before`; without it, the same policy. */
  readonly earlier?: OtherPolicy
  /** A folder of matrices, which may be missing; undefined to compare none. */
  readonly matrices: string | undefined
  readonly now: Date
}

/** Throws ToolError, and FileError for schemas with errors. */
export async function diffSchemas({
  before,
  after,
  schemas,
  policies,
  earlier,
  matrices,
  now,
}: DiffOptions): Promise<SchemaDiff> {
  const [old, next] = [await readSchemaSide(before, schemas), await readSchemaSide(after, schemas)]
  const both = { before: old.resources, after: next.resources }
  const filling = await fillingOf(policies, both)
  const policyChanges = [
    ...(await comparePolicyFindings({ policies, earlier }, both, now)),
    ...(matrices === undefined ? [] : await compareMatrices(matrices, both)),
  ]
  const compared = namesOf(old, next).map((name) => compareResource(name, { old, next, filling }))
  return {
    names: { before, after },
    changes: sorted([...compared.flatMap(({ changes }) => changes), ...policyChanges]),
    data: new Map(compared.map(({ name, verdict }) => [name, verdict])),
  }
}

function namesOf(old: SchemaSide, next: SchemaSide): readonly string[] {
  return [...new Set([...old.files.keys(), ...next.files.keys()])].sort()
}

interface Sides {
  readonly old: SchemaSide
  readonly next: SchemaSide
  readonly filling: Filling
}

function compareResource(name: string, { old, next, filling }: Sides) {
  const [before, after] = [old.resources.byName.get(name), next.resources.byName.get(name)]
  const file = next.files.get(name) ?? old.files.get(name)
  const placed =
    (concern: Concern) =>
    (change: Unplaced): SchemaChange => ({
      ...(file ? placeOf(file, change) : NOWHERE),
      concern,
      resource: name,
      pointer: pointerOfPath(change.path ?? []),
      code: change.code,
      effect: change.effect,
      sentence: change.sentence,
      ...(change.example === undefined ? {} : { example: change.example }),
    })
  const fit = storedFit(stored(before), stored(after))
  const changes = [
    ...clientChanges(before, after, filling).map(placed('clients')),
    ...fit.reasons.map(dataChange).map(placed('data')),
  ]
  return { name, changes, verdict: fit.verdict }
}

/** Nothing is stored of a resource that is kept elsewhere. */
function stored(resource: Resource | undefined): Resource | undefined {
  return resource?.external ? undefined : resource
}

const NOWHERE: Place = { file: '', line: 1, column: 1 }

function clientChanges(old: Resource | undefined, next: Resource | undefined, filling: Filling): readonly Unplaced[] {
  if (!next) return [{ code: 'resource-removed', effect: 'breaking', sentence: say`the resource is gone` }]
  if (next.external && old && !old.external) {
    const sentence = say`the resource is kept elsewhere, so its paths are gone`
    return [{ code: 'resource-removed', effect: 'breaking', sentence }]
  }
  if (old?.external && !next.external) {
    return [{ code: 'resource-added', effect: 'compatible', sentence: say`the resource is served here` }]
  }
  if (!old) return [{ code: 'resource-added', effect: 'compatible', sentence: say`the resource is new` }]
  return [...compareRoutes(old, next), ...compareFields(old, next), ...compareValues(old, next, filling)]
}

/** By concern, then by place. */
function sorted(changes: readonly SchemaChange[]): readonly SchemaChange[] {
  const asDiagnostic = (change: SchemaChange) => ({ ...change, severity: 'error', message: '' }) as const
  return changes.toSorted(
    (a, b) => CONCERNS.indexOf(a.concern) - CONCERNS.indexOf(b.concern) || byPlace(asDiagnostic(a), asDiagnostic(b)),
  )
}
