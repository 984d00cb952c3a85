/** The objects that schemas allow, those with few members first. */
import type { Json } from '../resource.ts'
import { declaredNames, leastOf, memberOf, mostOf, requiredNames, type SchemaPart } from './parts.ts'
import { isNothing, MOST_INSIDE, NOTHING, type Taking, UNKNOWN, type Values } from './taken.ts'

interface Choosing {
  readonly least: number
  readonly most: number
  readonly choices: readonly Choice[]
  /** Values for names that no schema declares. */
  readonly free: Values
  /** Names of a pattern may have other values than `free`, and none is looked for. */
  readonly hasPatterns: boolean
}

interface Choice {
  readonly name: string
  readonly required: boolean
  readonly values: () => Values
}

type Members = readonly (readonly [string, Json])[]

export function takeObjects(parts: readonly SchemaPart[], { count, take }: Taking): Values {
  const required = requiredNames(parts)
  const [least, most] = [leastOf(parts, 'minProperties', 0), mostOf(parts, 'maxProperties')]
  if (least > most) return NOTHING
  if (least > MOST_INSIDE) return UNKNOWN
  const choices = [...new Set([...required, ...declaredNames(parts)])].map((name): Choice => {
    const schemas = parts.flatMap((part) => memberOf(part, name))
    let known: Values | undefined
    const values = () => {
      known ??= take(schemas, count)
      return known
    }
    return { name, required: required.includes(name), values }
  })
  const needed = choices.filter((choice) => choice.required)
  if (needed.length > most || needed.some((choice) => isNothing(choice.values()))) return NOTHING
  if (needed.some((choice) => choice.values().values.length === 0)) return UNKNOWN
  const free = take(
    parts.flatMap((part) => memberOf(part, freeName(choices, 0))),
    count,
  )
  const tooFew = least > needed.length && choices.filter(({ values }) => !isNothing(values())).length < least
  const hasPatterns = parts.some(({ schema }) => Object.keys(schema.patternProperties ?? {}).length > 0)
  if (tooFew && isNothing(free)) return hasPatterns ? UNKNOWN : NOTHING
  return chosen({ least, most, choices, free, hasPatterns }, count)
}

function chosen(choosing: Choosing, count: number): Values {
  const values: Json[] = []
  for (const members of membersOf(choosing, 0, [])) {
    if (values.length >= count) return { values, complete: false }
    values.push(Object.fromEntries(members))
  }
  const { choices, most, free, hasPatterns } = choosing
  const needed = choices.filter(({ required }) => required)
  const possible = most > needed.length ? choices : needed
  const sure = possible.every((choice) => choice.values().complete)
  return { values, complete: sure && (most === needed.length || (isNothing(free) && !hasPatterns)) }
}

/** Fewer members first. A way that can't reach the number of members ends at once. */
function* membersOf(choosing: Choosing, at: number, members: Members): Generator<Members> {
  const { choices, most } = choosing
  const choice = choices[at]
  if (members.length > most || !canReach(choosing, at, members.length)) return
  if (choice === undefined) return yield* withFree(choosing, members)
  if (!choice.required) yield* membersOf(choosing, at + 1, members)
  for (const value of choice.values().values) yield* membersOf(choosing, at + 1, [...members, [choice.name, value]])
}

function canReach({ choices, least, most, free }: Choosing, at: number, reached: number): boolean {
  const rest = choices.slice(at)
  if (reached + rest.filter(({ required }) => required).length > most) return false
  if (free.values.length > 0 || reached >= least) return true
  if (reached + rest.length < least) return false
  return reached + rest.filter(({ values }) => values().values.length > 0).length >= least
}

/** As few members with free names as the bounds want, then one more each time. */
function* withFree({ least, most, choices, free }: Choosing, members: Members): Generator<Members> {
  if (members.length >= least) yield members
  const [first] = free.values
  if (first === undefined) return
  for (let size = Math.max(least, members.length + 1); size <= Math.min(most, MOST_INSIDE); size++) {
    const more = size - members.length
    const names = Array.from({ length: more }, (_, nth) => freeName(choices, nth))
    for (const value of free.values) yield [...members, ...names.map((name) => [name, value] as const)]
  }
}

/** A name that no schema declares. */
function freeName(choices: readonly { readonly name: string }[], nth: number): string {
  const taken = new Set(choices.map(({ name }) => name))
  const base = ['other', 'more', 'extra'].find((word) => ![...taken].some((name) => name.startsWith(word)))
  return `${base ?? `x${'_'.repeat(Math.max(...[...taken].map((name) => name.length)))}`}${nth === 0 ? '' : nth}`
}
