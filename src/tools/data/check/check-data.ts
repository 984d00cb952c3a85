/**
 * Which stored objects don't fit: the schemas, the objects that they name, and what the database keeps beside them. It
 * reads page by page beside a server; what it holds in memory doesn't grow with the number of objects.
 */
import { visit } from 'jsonc-parser'
import { isObject } from '../../../base/is-object.ts'
import { fieldValues } from '../../../decide/conditions/condition.ts'
import { faultsAsStored } from '../../../decide/permits/propose.ts'
import { type Policy, USERS } from '../../../decide/policy.ts'
import { represent } from '../../../resources/object.ts'
import type { Json, Representation, Resource, Resources } from '../../../resources/resource.ts'
import type { ObjectReader, StoredRow } from '../../../store/object-reader.ts'
import { objectsNamed } from '../../references.ts'
import { type RolesCheck, rolesCheck } from './check-roles.ts'
import { type DataFinding, FindingTally, MOST_IDS, type Reason } from './findings.ts'

export interface DataToCheck {
  readonly reader: ObjectReader
  /** Whose tables count as declared. */
  readonly resources: Resources
  /** The resources whose objects are checked. */
  readonly checked: readonly Resource[]
  /** Whether objects of resources without a schema are looked for. */
  readonly undeclared: boolean
  /** Undefined, with the reason, if the policy doesn't fit the schemas. */
  readonly policy: Pick<Policy, 'ownership' | 'roles' | 'links' | 'roleGuarantees'> | { readonly unfit: string }
  /** Milliseconds since the epoch: keys may have ended. */
  readonly now: number
}

interface CheckProgress {
  /** The number of rows, before they are read. */
  total(rows: number): void
  checked(rows: number): void
}

export interface DataReport {
  readonly resources: readonly CheckedResource[]
  readonly findings: readonly DataFinding[]
  /** Findings that aren't listed. */
  readonly more: number
  readonly unchecked: readonly Unchecked[]
}

export interface CheckedResource {
  readonly resource: string
  readonly objects: number
  /** Objects with a finding of their own: all but shared values and broken indexes. */
  readonly faulty: number
}

export interface Unchecked {
  readonly resource: string
  /** What was not checked. */
  readonly what: 'references' | 'indexes' | 'users' | 'roles'
  readonly why: string
}

const PAGE = { limit: 500, bytes: 8 * 1024 * 1024 }

/** Throws StoreUnavailable. */
export async function checkData(data: DataToCheck, progress: CheckProgress): Promise<DataReport> {
  const { reader, resources, checked } = data
  const tally = new FindingTally()
  const unchecked: Unchecked[] = []
  const counts = new Map<Resource, number>()
  for (const resource of checked) counts.set(resource, await reader.count(resource))
  progress.total([...counts.values()].reduce((sum, count) => sum + count, 0))
  const summaries: CheckedResource[] = []
  const users = resources.byName.get(USERS)
  // API keys count without users records too.
  const roles = data.undeclared || (users && checked.includes(users)) ? rolesCheckBy(data, unchecked) : undefined
  for (const resource of checked) {
    const followed = await followedFrom(resource, data, unchecked)
    summaries.push(
      await checkRows({ reader, resource, followed, roles: resource === users ? roles : undefined, tally }, progress),
    )
    await checkShared(reader, resource, tally)
    await checkIndexes(reader, resource, { tally, unchecked })
  }
  for await (const { resource, reason, ids, count } of roles?.beside(reader, users, data.now) ?? [])
    tally.add(resource, reason, ids, count)
  if (data.undeclared) await findUndeclared(reader, resources, tally)
  return { resources: summaries, findings: tally.findings, more: tally.more, unchecked }
}

function rolesCheckBy({ policy }: DataToCheck, unchecked: Unchecked[]): RolesCheck | undefined {
  if (!('unfit' in policy)) return rolesCheck(policy)
  unchecked.push({ resource: USERS, what: 'roles', why: policy.unfit })
  return undefined
}

/** The fields of the resource whose values are looked up. */
async function followedFrom(
  resource: Resource,
  { reader, resources, policy }: DataToCheck,
  unchecked: Unchecked[],
): Promise<readonly Followed[]> {
  const declared = (resource.references ?? []).flatMap(({ field, reference }): readonly Followed[] => {
    const to = resources.byName.get(reference.resource)
    return to ? [{ field, to }] : []
  })
  if ('unfit' in policy) {
    unchecked.push({ resource: resource.name, what: 'references', why: policy.unfit })
    return declared
  }
  const isDeclared = ({ field, to }: { readonly field: string; readonly to: string }) =>
    declared.some((one) => one.field === field && one.to.name === to)
  const named = objectsNamed(policy, resource.name).filter((one) => !isDeclared(one))
  const followed = named.map(({ field, to }) => ({ field, to: resources.byName.get(to) }))
  const users = resources.byName.get(USERS)
  const hasUsers = users !== undefined && (await reader.count(users)) > 0
  if (!hasUsers && named.some(({ to }) => to === USERS)) {
    const why = 'the database has no users, so they are known elsewhere'
    unchecked.push({ resource: resource.name, what: 'users', why })
  }
  return [
    ...declared,
    ...followed.flatMap(({ field, to }) => (to && (to.name !== USERS || hasUsers) ? [{ field, to }] : [])),
  ]
}

interface RowsToCheck {
  readonly reader: ObjectReader
  readonly resource: Resource
  readonly followed: readonly Followed[]
  /** Of users. */
  readonly roles: RolesCheck | undefined
  readonly tally: FindingTally
}

async function checkRows(rows: RowsToCheck, progress: CheckProgress): Promise<CheckedResource> {
  const { reader, resource, roles, tally } = rows
  let [objects, faulty] = [0, 0]
  for (let after: string | undefined; ; ) {
    const from = after === undefined ? {} : { after }
    const page = await reader.rows(resource, { ...PAGE, ...from })
    if (page.length === 0) return { resource: resource.name, objects, faulty }
    const checked = page.map((row) => checkRow(resource, row, roles))
    const dangling = await danglingIn(rows, checked, from)
    for (const [at, { row, reasons }] of checked.entries()) {
      const all = [...reasons, ...(dangling.get(at) ?? [])]
      for (const reason of all) tally.add(resource.name, reason, [row.id])
      if (all.length > 0) faulty += 1
    }
    objects += page.length
    after = page.at(-1)?.place
    progress.checked(page.length)
  }
}

/**
 * An object may have been changed, and then the other one deleted, while the page was checked. So the page is read again:
 * an object that is still of the same version named the missing object when that was looked for.
 */
async function danglingIn(
  { reader, resource, followed }: RowsToCheck,
  checked: readonly CheckedRow[],
  from: { readonly after?: string },
): Promise<ReadonlyMap<number, readonly Reason[]>> {
  const objects = checked.map(({ object }) => object)
  const dangling = await findDangling(reader, followed, objects)
  if (dangling.length === 0) return new Map()
  const again = new Map((await reader.rows(resource, { ...PAGE, ...from })).map((row) => [row.place, row]))
  const isSame = (row: StoredRow | undefined) => row !== undefined && again.get(row.place)?.version === row.version
  const still = dangling.filter(({ at }) => isSame(checked[at]?.row))
  return new Map([...Map.groupBy(still, ({ at }) => at)].map(([at, some]) => [at, some.map(({ reason }) => reason)]))
}

async function checkShared(reader: ObjectReader, resource: Resource, tally: FindingTally): Promise<void> {
  const alone = [...resource.fields.values()].filter(({ unique }) => unique).map(({ name }) => [name])
  for (const fields of [...alone, ...(resource.uniqueTogether ?? [])]) {
    const { count, ids } = await reader.shared(resource, fields, MOST_IDS)
    const what = fields.map((name) => `\`${name}\``).join(', ')
    const message =
      fields.length === 1
        ? `${what} is declared \`x-unique\`, but objects share a value`
        : `${what} are declared \`x-unique\` together, but objects share their values`
    if (count > 0) tally.add(resource.name, { code: 'value-shared', pointer: `/${fields[0]}`, message }, ids, count)
  }
}

async function checkIndexes(
  reader: ObjectReader,
  resource: Resource,
  { tally, unchecked }: { readonly tally: FindingTally; readonly unchecked: Unchecked[] },
): Promise<void> {
  const { faults, unchecked: why } = await reader.checkIndexes(resource, MOST_FAULTS)
  for (const { id, fault } of faults) {
    // The number of the row differs from object to object.
    const message = `an index is wrong: ${fault.replace(/^row \d+ /, 'row ')}`
    tally.add(resource.name, { code: 'index-broken', message }, id === undefined ? [] : [id], 1)
  }
  if (why !== undefined) unchecked.push({ resource: resource.name, what: 'indexes', why })
}

/** SQLite tells no more than 100. */
const MOST_FAULTS = 100

async function findUndeclared(reader: ObjectReader, resources: Resources, tally: FindingTally): Promise<void> {
  for (const { resource, count } of await reader.undeclared(resources)) {
    tally.add(resource, { code: 'schema-gone', message: 'no schema declares the resource of these objects' }, [], count)
  }
}

// What is wrong with one stored row by itself.

interface CheckedRow {
  readonly row: StoredRow
  readonly reasons: readonly Reason[]
  /** Undefined if the document is no JSON object. */
  readonly object: Representation | undefined
}

function checkRow(resource: Resource, row: StoredRow, roles: RolesCheck | undefined): CheckedRow {
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
    ...(roles?.reasonsOf(document.roles) ?? []),
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

// Finds fields of a page of objects that name objects which don't exist.

/** A field that names objects, and the resource of those. */
interface Followed {
  readonly field: string
  readonly to: Resource
}

interface Dangling {
  /** The position of the object in the page. */
  readonly at: number
  readonly reason: Reason
}

async function findDangling(
  reader: ObjectReader,
  followed: readonly Followed[],
  page: readonly (Representation | undefined)[],
): Promise<readonly Dangling[]> {
  const dangling: Dangling[] = []
  for (const { field, to } of followed) {
    const named = page.map((object) => (object ? idsIn(object, field) : []))
    const all = [...new Set(named.flat())]
    if (all.length === 0) continue
    const existing = await reader.existing(to, all)
    const reason = reasonOf(field, to.name)
    for (const [at, ids] of named.entries()) {
      if (ids.some((id) => !existing.has(id))) dangling.push({ at, reason })
    }
  }
  return dangling
}

function idsIn(object: Representation, field: string): readonly string[] {
  return fieldValues(object, field).filter((value) => typeof value === 'string')
}

function reasonOf(field: string, to: string): Reason {
  const message = `\`${field}\` names an object of ${to} that does not exist`
  return { code: to === USERS ? 'user-missing' : 'reference-dangling', pointer: `/${field}`, message }
}

// Finds a member that stands twice in a document: JSON.parse takes the last one, and engines take others.

/** `document` is the parsed text. Text that this program wrote isn't read again. */
function nameTwice(text: string, document: Json): boolean {
  return JSON.stringify(document) !== text && hasNameTwice(text)
}

function hasNameTwice(text: string): boolean {
  const names: Set<string>[] = []
  let found = false
  visit(text, {
    onObjectBegin: () => {
      names.push(new Set())
    },
    onObjectProperty: (name) => {
      found ||= names.at(-1)?.has(name) ?? false
      names.at(-1)?.add(name)
    },
    onObjectEnd: () => {
      names.pop()
    },
  })
  return found
}
