/** The schemas of a resource's representations and bodies, cut from its schema file to the fields that are granted. */
import { isObject } from '../../base/is-object.ts'
import { pathOfPointer } from '../../base/json-pointer.ts'
import type { Json, Resource } from '../../resources/resource.ts'
import { OWN_KEYWORDS } from '../../resources/schema/own-keywords.ts'
import { allSubschemas, followReferences, localPointer } from '../../resources/schema/subschemas.ts'
import { type Components, type Part, pascal } from './components.ts'

/** Keywords whose values aren't schemas: a `$ref` inside them isn't a reference. */
const VALUES: ReadonlySet<string> = new Set(['const', 'default', 'enum', 'examples'])
/** Keywords that say what members an object has. */
const MEMBERS = ['additionalProperties', 'patternProperties', '$ref', 'allOf', 'anyOf', 'oneOf']
/** Keywords that hold schemas by freely chosen names. */
const NAMED: ReadonlySet<string> = new Set(['properties', 'patternProperties', 'dependentSchemas', '$defs'])
const unpublished = Object.keys(OWN_KEYWORDS).filter((name) => !OWN_KEYWORDS[name]?.published)
const UNPUBLISHED: ReadonlySet<string> = new Set([...unpublished, '$schema', '$comment'])

export class ResourceSchemas {
  readonly resource: Resource
  /** The beginning of component names: `Note`. */
  readonly base: string
  readonly #components: Components
  /** Where a schema asks which members others have evaluated, an open object would evaluate them all. */
  readonly #opensObjects: boolean
  readonly #references = new Map<string, Part>()

  constructor(resource: Resource, base: string, components: Components) {
    this.resource = resource
    this.base = base
    this.#components = components
    this.#opensObjects = !allSubschemas(resource.schema).some(({ schema }) =>
      Object.hasOwn(Object(schema), 'unevaluatedProperties'),
    )
  }

  get description(): string | undefined {
    const { description } = this.resource.schema
    return typeof description === 'string' ? description : undefined
  }

  /** An object with only these fields of the resource, in the schema's order, and perhaps more members. */
  object(fields: ReadonlySet<string>, required: ReadonlySet<string>, more: Part = {}): Part {
    const named = this.#names(fields)
    const needed = named.filter((name) => required.has(name))
    return {
      ...(this.description === undefined ? {} : { description: this.description }),
      type: 'object',
      properties: { ...Object.fromEntries(named.map((name) => [name, this.field(name)])), ...more },
      ...(needed.length > 0 ? { required: needed } : {}),
      additionalProperties: false,
    }
  }

  /** The whole schema, for a resource without fields that views could select. */
  get whole(): Part {
    const { title, ...schema } = this.resource.schema
    return schema
  }

  /** A JSON Merge Patch (RFC 7396) of these fields: null removes an optional field, and objects are merged. */
  patch(fields: ReadonlySet<string>): Part {
    const named = this.#names(fields)
    return {
      description: 'A JSON Merge Patch (RFC 7396): an absent field stays as it is, null removes a field.',
      type: 'object',
      properties: Object.fromEntries(named.map((name) => [name, this.#patched(name)])),
      additionalProperties: false,
    }
  }

  field(name: string): Part {
    return this.#convert(this.#source(name)) as Part
  }

  /** The fields that the schema requires in a whole representation. */
  get required(): ReadonlySet<string> {
    const { required } = this.resource.schema
    return new Set(Array.isArray(required) ? (required as readonly string[]) : [])
  }

  #names(fields: ReadonlySet<string>): readonly string[] {
    return [...this.resource.fields.keys()].filter((name) => fields.has(name))
  }

  #source(name: string): Json {
    const { properties } = this.resource.schema
    return isObject(properties) ? (properties[name] ?? {}) : {}
  }

  #patched(name: string): Part {
    const source = this.#source(name)
    const whole = followReferences(this.resource.schema, source)
    const scalarOrList = isObject(whole) && typeof whole.type === 'string' && whole.type !== 'object'
    if (!scalarOrList) return { description: 'Merged into the stored value; null removes the field.' }
    const stays = this.required.has(name) && this.resource.fields.get(name)?.default === undefined
    return stays ? this.field(name) : { anyOf: [this.field(name), { type: 'null' }] }
  }

  /** The same schema with references into the document, and without the file's own keywords. */
  #convert(schema: Json): Json {
    if (Array.isArray(schema)) return schema.map((one: Json) => this.#convert(one))
    if (!isObject(schema)) return schema
    const entries = Object.entries(schema).filter(([keyword]) => !UNPUBLISHED.has(keyword))
    const converted = entries.map(([keyword, value]) => [keyword, this.#convertValue(keyword, value)])
    const pointer = localPointer(schema.$ref)
    const reference = pointer === undefined ? {} : this.#reference(pointer)
    return {
      ...Object.fromEntries(converted),
      ...reference,
      ...(this.#opensObjects && isFreeForm(schema) ? { additionalProperties: true } : {}),
    }
  }

  #convertValue(keyword: string, value: Json): Json {
    if (VALUES.has(keyword)) return value
    if (!NAMED.has(keyword) || !isObject(value)) return this.#convert(value)
    return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, this.#convert(schema)]))
  }

  #reference(pointer: string): Part {
    const known = this.#references.get(pointer)
    if (known) return known
    const path = pathOfPointer(pointer)
    const name = this.base + pascal(path.at(-1) ?? 'whole')
    return this.#components.addRecursive(name, (reference) => {
      this.#references.set(pointer, reference)
      return this.#convert(path.reduce<Json>(stepInto, this.resource.schema)) as Part
    })
  }
}

/** An object of any members. Without `additionalProperties`, generated types would allow none (`Record<string, never>`). */
function isFreeForm(schema: Readonly<Record<string, Json>>): boolean {
  const { type, properties = {} } = schema
  if (![type].flat().includes('object') || Object.keys(Object(properties)).length > 0) return false
  return MEMBERS.every((keyword) => schema[keyword] === undefined)
}

function stepInto(value: Json, key: string): Json {
  return (value as Readonly<Record<string, Json>>)[key] ?? true
}
