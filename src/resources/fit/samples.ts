/** Values that fit schemas, and whether there are others. With keywords that aren't taken apart, they are proposals. */
import type { Json } from '../resource.ts'
import { unique, valuesOf } from '../samples/sample-values.ts'
import { accepts } from './accepts.ts'
import { takeNumbers } from './numbers.ts'
import {
  type Budget,
  type JsonType,
  listedValues,
  opaqueKeywords,
  type RootedSchema,
  type SchemaPart,
  schemaParts,
  sharedTypes,
} from './parts.ts'
import { takeLists } from './take-lists.ts'
import { takeObjects } from './take-objects.ts'
import { NOTHING, type Taking, UNKNOWN, type Values } from './taken.ts'
import { takeTexts } from './texts.ts'

/** A schema that contains itself is followed so far. */
const DEEPEST = 8

interface Depth {
  readonly budget: Budget
  readonly depth: number
}

/** At most `count` different values. `complete`: no other value fits, whatever the opaque keywords say. */
export function take(schemas: readonly RootedSchema[], count: number, taking: Depth): Values {
  const parts = schemaParts(schemas)
  taking.budget.spend(parts?.length ?? 0)
  if (parts === undefined || count === 0) return parts === undefined ? NOTHING : UNKNOWN
  if (taking.depth > DEEPEST) return UNKNOWN
  const inside: Taking['take'] = (all, most) => take(all, most, { ...taking, depth: taking.depth + 1 })
  const found = takeListed(parts, taking) ?? takeTyped(parts, { count, take: inside })
  const opaque = parts.filter((part) => opaqueKeywords(part).length > 0)
  if (opaque.length === 0 || (found.complete && found.values.length === 0)) {
    return { values: found.values.slice(0, count), complete: found.complete && found.values.length <= count }
  }
  const proposed = [...found.values, ...opaque.flatMap((part) => proposals(part))]
  const fitting = unique(proposed).filter((value) => accepts(schemas, value, taking.budget) !== false)
  return { values: fitting.slice(0, count), complete: false }
}

/** `const` and `enum` leave few values, which are looked at one by one. */
function takeListed(parts: readonly SchemaPart[], { budget }: Depth): Values | undefined {
  const listed = parts.map(listedValues).find((values) => values !== undefined)
  if (listed === undefined) return undefined
  const answers = unique(listed).map((value) => ({ value, fits: accepts(parts, value, budget) }))
  const values = answers.filter(({ fits }) => fits !== false).map(({ value }) => value)
  return { values, complete: answers.every(({ fits }) => fits !== undefined) }
}

function takeTyped(parts: readonly SchemaPart[], { count, take: inside }: Taking): Values {
  const values: Json[] = []
  let complete = true
  for (const type of sharedTypes(parts)) {
    const some = takeOfType(type, parts, { count: Math.max(1, count - values.length), take: inside })
    values.push(...some.values)
    complete &&= some.complete
  }
  return { values, complete }
}

function takeOfType(type: JsonType, parts: readonly SchemaPart[], taking: Taking): Values {
  switch (type) {
    case 'null':
      return { values: [null], complete: true }
    case 'boolean':
      return { values: [false, true], complete: true }
    case 'number':
      return takeNumbers(parts, taking.count)
    case 'string':
      return takeTexts(parts, taking.count)
    case 'array':
      return takeLists(parts, taking)
    case 'object':
      return takeObjects(parts, taking)
  }
}

/** Values of the branches, and those that `examples` and the like show. */
function proposals({ root, schema }: SchemaPart): readonly Json[] {
  const branches = [schema.anyOf, schema.oneOf].flatMap((some) => (some ?? []) as readonly Json[])
  const conditional = [schema.then, schema.else].filter((one) => one !== undefined)
  return [schema, ...branches, ...conditional].flatMap((one) => valuesOf(root, one))
}
