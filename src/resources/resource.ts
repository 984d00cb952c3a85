/** What a schema file declares: a resource, its fields and its routes. Types only; load-resources.ts makes them. */
import type { FieldFault } from '../base/problems/problem.ts'

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** An object as clients see it before views cut it: the document with `id`, `createdAt` and `updatedAt`. */
export type Representation = Readonly<Record<string, Json>>

/** Names of fields of a resource. */
export type FieldNames = ReadonlySet<string>

/** What a method does to a route. The policy's *action* has the same name unless the route names its own. */
export type Operation = 'list' | 'read' | 'create' | 'replace' | 'update' | 'delete' | 'watch' | 'options'

/** Whether the answer is about all objects that the caller sees, and not about one. */
export function concernsMany(operation: Operation): boolean {
  return operation === 'list' || operation === 'watch'
}

export type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS'

/** The JSON types that a field can be compared by; `other` can't be used in a relation, a filter or an index. */
export type FieldType = 'string' | 'integer' | 'number' | 'boolean' | 'other'

export interface Field {
  readonly name: string
  /** The type of the value, or of each element where `list` is true. */
  readonly type: FieldType
  readonly list: boolean
  /** The server's field: clients can't change it. */
  readonly readOnly: boolean
  readonly indexed: boolean
  readonly unique: boolean
  /** A text that is a date-time (RFC 3339), which is compared as a time. */
  readonly time?: true
  /** The text is the id of an object of another resource, or of the same one. */
  readonly reference?: ReferenceTo
  /** The values that the schema lists, where it does. */
  readonly oneOf?: readonly Json[]
  /** The default value, or undefined. */
  readonly default: Json | undefined
}

/** What a delete does with the objects that refer to the deleted one. */
export type OnDelete = 'restrict' | 'null' | 'cascade'

interface ReferenceTo {
  readonly resource: string
  readonly onDelete: OnDelete
  /** Whether the field may be null; else `null` takes it away. */
  readonly nullable: boolean
}

export interface FieldReference {
  readonly field: string
  readonly reference: ReferenceTo
}

/** `collection`: no object of its own is named; `item`: the path's `{id}`; `caller`: the caller's own record. */
export type RouteKind = 'collection' | 'item' | 'caller'

export interface Endpoint {
  readonly operation: Operation
  readonly action: string
}

/** The deprecation and sunset of a route (docs/http.md, "Versions"). Times are milliseconds since the epoch. */
interface Lifecycle {
  readonly deprecatedAt?: number
  /** From this time on the route answers 410. */
  readonly sunsetAt?: number
  /** The path that replaces it; may contain `{id}`. */
  readonly successor?: string
}

/** What a step writes into a field: a constant, a member of the input, the caller's id, or the time of the request. */
export type StepValue =
  | { readonly value: Json }
  | { readonly input: string }
  | { readonly caller: 'id' }
  | { readonly time: 'now' }

/** Of a new object also: a field of the command's object, as the command leaves it. */
export type CreatedValue = StepValue | { readonly object: string }

/** An object that a command creates beside its own. */
export interface CreateStep {
  readonly resource: string
  readonly set: Readonly<Record<string, CreatedValue>>
}

/** A change of one object that its file declares (`schemas/commands/`): a POST to a path of the object. */
export interface Command {
  /** The file's, without `.json`. */
  readonly name: string
  readonly title?: string
  readonly description?: string
  /** The JSON Schema of the body; absent for a command without one. */
  readonly input?: Readonly<Record<string, Json>>
  /** The values that a field may have before. */
  readonly require: Readonly<Record<string, readonly Json[]>>
  readonly set: Readonly<Record<string, StepValue>>
  readonly creates: readonly CreateStep[]
  /** The fields that it sets whatever its input is. */
  readonly sets: FieldNames
  /** A step sets a field to the caller's id, so the caller needs one. */
  readonly namesCaller: boolean
  /** The grant of the command's action is enough: else the caller needs the right to each step too. */
  readonly grantsSteps: boolean
}

export interface Route {
  /** As the schema file writes it, with `{id}`, or with the field of a parent. */
  readonly path: string
  readonly resource: string
  readonly kind: RouteKind
  /** For a collection of the objects that refer to one parent: the path's parameter, and the resource of the parent. */
  readonly parent?: { readonly field: string; readonly resource: string }
  /** Every accepted method, HEAD and OPTIONS included. */
  readonly endpoints: ReadonlyMap<Method, Endpoint>
  /** The value of `Allow`. */
  readonly allow: string
  /** A view of views.yaml that narrows what the route shows. */
  readonly view?: string
  /** The path that this one moved to, for good (`permanent`) or for now; may contain `{id}`. */
  readonly redirect?: { readonly to: string; readonly permanent: boolean }
  /** Undefined for a route that stays. */
  readonly lifecycle?: Lifecycle
  /** PUT, PATCH and DELETE need `If-Match`. */
  readonly precondition?: 'required'
  /** For a built-in route with a body and an answer of its own. */
  readonly exchange?: RouteExchange
  /** A stream of events about the objects of the resource. `keepMs`: how long a client may be away and miss none. */
  readonly events?: { readonly keepMs: number }
  /** The route is this command. */
  readonly command?: Command
  /** A GET shows the former versions of the object, of this time. */
  readonly history?: { readonly keepMs: number }
  /** Who asks at a built-in route for forward auth. */
  readonly gateway?: Gateway
}

/** A program that asks about the requests of its clients. */
export interface Gateway {
  readonly name: 'nginx' | 'traefik' | 'caddy'
  /** The headers in which it names the method and the URI of its client's request. */
  readonly headers: { readonly method: string; readonly uri: string }
  /** The statuses of refusals that its client gets to see. */
  readonly passesOn: 'every status' | '401 and 403'
}

/** What a built-in route takes and gives: JSON Schemas, whose titles name them in OpenAPI. */
export interface RouteExchange {
  /** What the route does, in a few words. */
  readonly summary: string
  /** Undefined for a GET. */
  readonly takes?: Readonly<Record<string, Json>>
  readonly gives: Readonly<Record<string, Json>>
  /** The answer is server-sent events, and not JSON. */
  readonly streams?: true
  /** Those of a body. */
  readonly faults?: (body: unknown) => readonly FieldFault[]
}

export interface Action {
  readonly name: string
  /** If an action has no fields (delete, options), a decision is about the single pseudo-field `*`. */
  readonly hasFields: boolean
  /** Of a command whose steps need their own right: the action that must be granted too, for the same object and fields. */
  readonly also?: Action
}

/**
 * What a rule may write in place of the resource's name. `system/policy` has nothing: a rule for all built-in resources
 * was written by people who thought of other answers than the whole policy.
 */
export function wildcardOf(name: string): '*' | 'system/*' | undefined {
  if (name === 'system/policy') return undefined
  return name.startsWith('system/') ? 'system/*' : '*'
}

/** What the resource column of a rule about this resource may hold. */
export function namesInRules(name: string): readonly string[] {
  const wildcard = wildcardOf(name)
  return wildcard === undefined ? [name] : [name, wildcard]
}

export interface Resource {
  readonly name: string
  /** `system/…`: served by the program itself; `*` in a policy doesn't mean it. */
  readonly builtIn: boolean
  /** The objects are kept elsewhere: no table, no routes of the server. Its `routes` are those of the other service. */
  readonly external?: true
  /** The JSON Schema of a whole representation, with the file's own keywords. */
  readonly schema: Readonly<Record<string, Json>>
  /** Every field, `id`, `createdAt` and `updatedAt` included. */
  readonly fields: ReadonlyMap<string, Field>
  /** The fields that name other objects; absent if there are none. */
  readonly references?: readonly FieldReference[]
  /** The fields whose values no two objects have together; absent if there are none. */
  readonly uniqueTogether?: readonly (readonly string[])[]
  readonly routes: readonly Route[]
  readonly actions: ReadonlyMap<string, Action>
  /** How long the store keeps what each write made of its objects; absent where nothing asks for it. */
  readonly changes?: { readonly keepMs: number }
  /** The first item route's path: `Location` of a new object. */
  readonly canonicalItemPath?: string
  /** For a built-in resource: the JSON Schema of the request body, if the answer has another schema. */
  readonly takes?: Readonly<Record<string, Json>>
  /**
   * All faults of a whole representation at once (of the request body, if the resource has a schema `takes`); empty if
   * it fits the schema. Doesn't change its argument. For an external resource, any attributes: each is checked alone.
   */
  validate(representation: Representation): readonly FieldFault[]
}

/** Whether lists take the parameters `aggregate` and `by`: no field that they can be filtered by has the name. */
export function isAggregated({ fields }: Pick<Resource, 'fields'>): boolean {
  return !fields.get('aggregate')?.indexed && !fields.get('by')?.indexed
}

export interface Resources {
  readonly byName: ReadonlyMap<string, Resource>
  /** Those that the server serves. */
  readonly routes: readonly Route[]
}
