/**
 * Which stored objects don't fit: the schemas, the objects that they name, and what the database keeps beside them. It
 * reads page by page beside a server; what it holds in memory doesn't grow with the number of objects.
 */

import type { Policy } from '../../../decide/policy.ts'
import { USERS } from '../../../decide/policy.ts'
import type { Resource, Resources } from '../../../resources/resource.ts'
import type { ObjectReader, StoredRow } from '../../../store/object-reader.ts'
import { objectsNamed } from '../../references.ts'
import { type Followed, findDangling } from './check-references.ts'
import { type CheckedRow, checkRow } from './check-row.ts'
import { type DataFinding, FindingTally, MOST_IDS, type Reason } from './tally.ts'

export interface DataToCheck {
  readonly reader: ObjectReader
  /** Whose tables count as declared. */
  readonly resources: Resources
  /** The resources whose objects are checked. */
  readonly checked: readonly Resource[]
  /** Whether objects of resources without a schema are looked for. */
  readonly undeclared: boolean
  /** Undefined, with the reason, if the policy doesn't fit the schemas. */
  readonly policy: Pick<Policy, 'ownership'> | { readonly unfit: string }
}

export interface CheckProgress {
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
  readonly what: 'references' | 'indexes' | 'users'
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
  for (const resource of checked) {
    const followed = await followedFrom(resource, data, unchecked)
    summaries.push(await checkRows({ reader, resource, followed, tally }, progress))
    await checkShared(reader, resource, tally)
    await checkIndexes(reader, resource, { tally, unchecked })
  }
  if (data.undeclared) await findUndeclared(reader, resources, tally)
  return { resources: summaries, findings: tally.findings, more: tally.more, unchecked }
}

/** The fields of the resource whose values are looked up. */
async function followedFrom(
  resource: Resource,
  { reader, resources, policy }: DataToCheck,
  unchecked: Unchecked[],
): Promise<readonly Followed[]> {
  if ('unfit' in policy) {
    unchecked.push({ resource: resource.name, what: 'references', why: policy.unfit })
    return []
  }
  const followed = objectsNamed(policy, resource.name).map(({ field, to }) => ({ field, to: resources.byName.get(to) }))
  const users = resources.byName.get(USERS)
  const hasUsers = users !== undefined && (await reader.count(users)) > 0
  if (!hasUsers && objectsNamed(policy, resource.name).some(({ to }) => to === USERS)) {
    const why = 'the database has no users, so they are known elsewhere'
    unchecked.push({ resource: resource.name, what: 'users', why })
  }
  return followed.flatMap(({ field, to }) => (to && (to.name !== USERS || hasUsers) ? [{ field, to }] : []))
}

interface Rows {
  readonly reader: ObjectReader
  readonly resource: Resource
  readonly followed: readonly Followed[]
  readonly tally: FindingTally
}

async function checkRows(rows: Rows, progress: CheckProgress): Promise<CheckedResource> {
  const { reader, resource, tally } = rows
  let [objects, faulty] = [0, 0]
  for (let after: string | undefined; ; ) {
    const from = after === undefined ? {} : { after }
    const page = await reader.rows(resource, { ...PAGE, ...from })
    if (page.length === 0) return { resource: resource.name, objects, faulty }
    const checked = page.map((row) => checkRow(resource, row))
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
  { reader, resource, followed }: Rows,
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
  for (const { name, unique } of resource.fields.values()) {
    if (!unique) continue
    const { count, ids } = await reader.shared(resource, name, MOST_IDS)
    const message = `\`${name}\` is declared \`x-unique\`, but objects share a value`
    if (count > 0) tally.add(resource.name, { code: 'value-shared', pointer: `/${name}`, message }, ids, count)
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
