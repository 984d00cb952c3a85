/** The objects to try for one that is wanted: the schema accepts them. The likeliest come first. */
import type { Json, Representation, Resource } from '../../../resources/resource.ts'
import type { FieldChoices } from './field-choice.ts'
import type { Samples } from './values/samples.ts'

interface Wanted {
  readonly resource: Resource
  readonly samples: Samples
  readonly id: string
}

const AT = '2026-01-01T00:00:00.000Z'

/** How many objects are tried with the same other fields. */
const MOST_TRIED = 200

/** `choices`: the fields that relations compare. */
export function* candidateObjects(
  wanted: Wanted,
  choices: ReadonlyMap<string, FieldChoices>,
): Generator<Representation, undefined> {
  for (const others of otherFields(wanted, choices)) {
    for (const chosen of combinations([...choices], MOST_TRIED)) {
      const object = inOrder(wanted.resource, { createdAt: AT, updatedAt: AT, ...others, ...chosen })
      if (isSound(wanted.resource, object)) yield object
    }
  }
  return undefined
}

/** Values for the fields that no relation compares: first for all of them, then only for the required ones. */
function otherFields(
  { resource, samples, id }: Wanted,
  choices: ReadonlyMap<string, FieldChoices>,
): readonly Representation[] {
  const plain = [...resource.fields.values()].flatMap(({ name, readOnly }): readonly (readonly [string, Json])[] => {
    if (choices.has(name)) return []
    if (name === 'id') return [[name, id]]
    const value = samples.values.get(name)?.at(1) ?? samples.values.get(name)?.[0]
    return readOnly || value === undefined ? [] : [[name, value]]
  })
  const needed = plain.filter(([name]) => name === 'id' || Object.hasOwn(samples.smallest, name))
  const further = plain.filter((entry) => !needed.includes(entry))
  return [plain, needed, ...further.map((entry) => [...needed, entry])].map((entries) => Object.fromEntries(entries))
}

/** Takes one value for each field, the likeliest values first. */
function* combinations(
  choices: readonly (readonly [string, FieldChoices])[],
  most: number,
): Generator<Representation, void> {
  const sizes = choices.map(([, { values }]) => values.length)
  const total = sizes.reduce((product, size) => product * size, 1)
  for (let nth = 0; nth < Math.min(total, most); nth++) {
    let left = nth
    const entries = choices.flatMap(([name, { values }], i): readonly (readonly [string, Json])[] => {
      const size = sizes[i] ?? 1
      const value = values[left % size]
      left = Math.floor(left / size)
      return value === undefined ? [] : [[name, value]]
    })
    yield Object.fromEntries(entries)
  }
}

/** The fields in the order in which the server stores and shows them. */
function inOrder({ fields }: Resource, object: Representation): Representation {
  const names = [...fields.keys()].filter((name) => Object.hasOwn(object, name))
  return Object.fromEntries(names.map((name) => [name, object[name] ?? null]))
}

/**
 * Whether the schema accepts the object. The server's own fields are ignored: an id may have another form than new ids.
 */
function isSound({ fields, validate }: Resource, object: Representation): boolean {
  return validate(object).every(({ pointer }) => fields.get(pointer.slice(1).split('/')[0] ?? '')?.readOnly ?? false)
}
