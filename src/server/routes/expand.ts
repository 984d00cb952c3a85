/**
 * `?expand=projectId,projectId.ownerId`: the objects that an answer names by references, each as its own GET would show it
 * to this caller. An object that the caller can't read is as if missing.
 */
import { onceKnown } from '../../base/now-or-later.ts'
import { Problem } from '../../base/problems/problem.ts'
import { decideOnObject, isPossibleId, passRoleLevel } from '../../decide/decide.ts'
import { type CallerGrants, inView } from '../../decide/grants/caller-grants.ts'
import { servedRoute } from '../../decide/object-routes.ts'
import { isRefusal } from '../../decide/refusal.ts'
import type { DecisionRecord } from '../../decision-log/decision-record.ts'
import type { FieldNames, FieldReference, Representation, Resource } from '../../resources/resource.ts'
import type { HandledRequest, Services } from './handler.ts'

const DEEPEST = 3
const MOST_PATHS = 10
/** Different ones, for all rows of an answer. */
const MOST_OBJECTS = 200

/** By path. What is missing, or can't be read, has no entry. */
type ExpandedPaths = Readonly<Record<string, Representation>>

export interface Expanded {
  /** For each row, with its JSON. */
  readonly rows: readonly { readonly paths: ExpandedPaths; readonly text: string }[]
  /** What was shown, for the decision record. */
  readonly objects: NonNullable<DecisionRecord['expanded']>
}

interface RowsToExpand {
  readonly rows: readonly Representation[]
  /** The fields that a row may show. */
  readonly fields: FieldNames
}

/** Throws Problem invalid-query, and what the store throws. */
export async function expand(
  services: Services,
  request: HandledRequest,
  text: string,
  { rows, fields }: RowsToExpand,
): Promise<Expanded> {
  const names = text.split(',')
  if (new Set(names).size < names.length) throw refused('repeats a path; name each once')
  if (names.length > MOST_PATHS) throw refused(`must have at most ${MOST_PATHS} paths`)
  const related = new RelatedObjects(services, request)
  const paths: ExpandPath[] = []
  for (const name of names) paths.push({ name, steps: await related.stepsOf(name.split('.'), fields) })
  const found = await related.along(rows, paths)
  return { rows: writtenWithin(request.snapshot.limits.answerBytes, found), objects: related.shown }
}

/** Stops at the bound: many rows and paths may name one large object. */
function writtenWithin(answerBytes: number, rows: readonly ExpandedPaths[]): Expanded['rows'] {
  let bytes = 0
  return rows.map((paths) => {
    const text = JSON.stringify(paths)
    bytes += Buffer.byteLength(text)
    if (bytes > answerBytes) throw tooMuch(`${answerBytes} bytes`)
    return { paths, text }
  })
}

function refused(why: string): Problem {
  return new Problem('invalid-query', `The query parameter expand ${why}.`)
}

function tooMuch(what: string): Problem {
  return refused(`would add more than ${what} to the answer; ask for fewer rows, or for fewer paths`)
}

/** A reference, and the resource of the objects that it names. */
interface ReferenceStep {
  readonly field: string
  readonly to: Resource
}

interface ExpandPath {
  readonly name: string
  readonly steps: readonly ReferenceStep[]
}

/** Objects that are read beside that of the request. */
export class RelatedObjects {
  readonly #services: Services
  readonly #request: HandledRequest
  readonly #grants = new Map<string, CallerGrants | undefined>()
  /** Undefined for one that is missing, or that the caller can't read. */
  readonly #objects = new Map<string, Representation | undefined>()
  readonly #shown: { readonly resource: string; readonly objectId: string }[] = []

  constructor(services: Services, request: HandledRequest) {
    this.#services = services
    this.#request = request
  }

  get shown(): Expanded['objects'] {
    return this.#shown
  }

  /** Those of the ids whose objects a GET shows to the caller. Throws Problem invalid-query for too many. */
  async readable(resource: Resource, ids: readonly string[]): Promise<readonly string[]> {
    const named = ids.map((id) => namedObject(resource, id))
    await this.#readAll(named)
    return named.flatMap(({ id, key }) => (this.#objects.get(key) ? [id] : []))
  }

  /** A field that the caller can't see gets the same answer as one that isn't there. */
  async stepsOf(fields: readonly string[], shown: FieldNames): Promise<readonly ReferenceStep[]> {
    if (fields.length > DEEPEST) throw refused(`must have paths of at most ${DEEPEST} fields`)
    const steps: ReferenceStep[] = []
    let [resource, visible] = [this.#request.resource, shown]
    for (const [at, field] of fields.entries()) {
      const known = (resource.references ?? []).filter((one) => visible.has(one.field))
      const found = known.find((one) => one.field === field)
      const to = found && this.#request.resources.byName.get(found.reference.resource)
      if (!to) throw unknownPath(fields.slice(0, at), known)
      steps.push({ field, to })
      const grants = at + 1 < fields.length ? await this.#grantsOn(to) : undefined
      visible = grants ? inView(grants, grants.roleLevel.grantable) : new Set()
      resource = to
    }
    return steps
  }

  /** Step by step for all rows, so that the objects of a step are read together. */
  async along(rows: readonly Representation[], paths: readonly ExpandPath[]): Promise<readonly ExpandedPaths[]> {
    const ways = rows.map((row) =>
      paths.map(({ name, steps }) => ({ name, steps, at: row as Representation | undefined })),
    )
    for (let step = 0; step < DEEPEST; step += 1) {
      const going = ways.flat().filter(({ steps, at }) => at && step < steps.length)
      const wanted = going.map((way) => ({ way, named: this.#named(way.at, way.steps[step]) }))
      await this.#readAll(wanted.flatMap(({ named }) => named ?? []))
      for (const { way, named } of wanted) way.at = named && this.#objects.get(named.key)
    }
    return ways.map((row) => Object.fromEntries(row.flatMap(({ name, at }) => (at ? [[name, at]] : []))))
  }

  #named(from: Representation | undefined, step: ReferenceStep | undefined): NamedObject | undefined {
    if (!step) return undefined
    const id = from?.[step.field]
    return typeof id === 'string' ? namedObject(step.to, id) : undefined
  }

  async #readAll(named: readonly NamedObject[]): Promise<void> {
    const fresh = [...new Map(named.map((one) => [one.key, one])).values()].filter(({ key }) => !this.#objects.has(key))
    if (this.#objects.size + fresh.length > MOST_OBJECTS) throw tooMuch(`${MOST_OBJECTS} objects`)
    for (const resource of new Set(fresh.map((one) => one.resource))) await this.#grantsOn(resource)
    const read = await Promise.all(fresh.map((one) => this.#read(one)))
    for (const [i, { key, resource, id }] of fresh.entries()) {
      this.#objects.set(key, read[i])
      if (read[i]) this.#shown.push({ resource: resource.name, objectId: id })
    }
  }

  #read({ resource, id }: NamedObject): Representation | undefined | Promise<Representation | undefined> {
    const grants = this.#grants.get(resource.name)
    if (!grants || !isPossibleId(id)) return undefined
    return onceKnown(this.#services.store.get(resource.name, id), (object) => {
      if (!object) return undefined
      return onceKnown(this.#request.ask(decideOnObject(grants, 'read', object)), (decision) => {
        return !isRefusal(decision) && decision.kind === 'read' ? decision.representation : undefined
      })
    })
  }

  /** Undefined if the caller may read none of them, or no GET shows one. */
  async #grantsOn(resource: Resource): Promise<CallerGrants | undefined> {
    if (this.#grants.has(resource.name)) return this.#grants.get(resource.name)
    const { asked, snapshot, ask } = this.#request
    const by = asked()
    const route = servedRoute(resource, 'read', by.now)
    const found = route && (await ask(passRoleLevel({ ...by, ...route, resource }, snapshot)))
    const grants = found?.kind === 'grants' ? found : undefined
    this.#grants.set(resource.name, grants)
    return grants
  }
}

interface NamedObject {
  readonly resource: Resource
  readonly id: string
  readonly key: string
}

function namedObject(resource: Resource, id: string): NamedObject {
  return { resource, id, key: `${resource.name}/${id}` }
}

function unknownPath(before: readonly string[], known: readonly FieldReference[]): Problem {
  const all = known.map(({ field }) => [...before, field].join('.'))
  return refused(all.length === 0 ? 'names a field that refers to nothing' : `can name ${all.join(', ')}`)
}
