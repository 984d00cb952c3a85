/** The names in the YAML files of a policy, and in cases of matrices. */

import { type Document, isMap, isScalar, isSeq, parseDocument, type Scalar } from 'yaml'
import type { Path } from '../../base/json-pointer.ts'
import type { Resources } from '../../resources/resource.ts'
import { type NameKind, type NameSlot, slotsIn } from './name-slot.ts'
import { BETWEEN_TERMS } from './rule-slots.ts'

/** What a place in a file holds. `*` stands for any key or position, `#` for the key itself at the end of a path. */
interface YamlPlace {
  readonly path: string
  readonly kinds: readonly NameKind[]
  /** Where the resource stands that the place is about: at a position of the path, or under a key beside it. */
  readonly about?: number | readonly string[]
  readonly separator?: RegExp
  readonly words?: readonly string[]
  readonly declares?: true
}

const CALLERS = ['everyone', 'anonymous']
const RESOURCE = ['resource']

/** Of `never`, `always`, and each of the two acts of `apart`; `terms`: the key of the terms. */
function placesOfAct(act: string, terms: 'unless' | 'when'): readonly YamlPlace[] {
  return [
    { path: `${act} subjects *`, kinds: ['role'], words: CALLERS },
    { path: `${act} subjects except *`, kinds: ['role'], words: CALLERS },
    { path: `${act} resource`, kinds: ['resource'] },
    { path: `${act} actions *`, kinds: ['action'], about: RESOURCE },
    { path: `${act} fields *`, kinds: ['field'], about: RESOURCE },
    {
      path: `${act} ${terms}`,
      kinds: ['relation', 'condition'],
      about: RESOURCE,
      separator: BETWEEN_TERMS,
      words: ['any'],
    },
  ]
}

/** test/lsp/places.test.ts holds that no place of the files' shapes is forgotten. */
export const NAME_PLACES: Readonly<Record<string, readonly YamlPlace[]>> = {
  'roles.yaml': [{ path: '* #', kinds: ['role'], declares: true }],
  'views.yaml': [
    { path: '* #', kinds: ['resource'] },
    { path: '* * #', kinds: ['view'], about: 0, declares: true },
    { path: '* * *', kinds: ['field'], about: 0 },
  ],
  'ownership.yaml': [
    { path: '* #', kinds: ['resource'] },
    { path: '* relations * #', kinds: ['relation'], about: 0, declares: true },
    ...['* relations *', '* relations * field', '* relations * through'].map((path) => {
      return { path, kinds: ['field'] as const, about: 0 }
    }),
    { path: '* relations * to', kinds: ['resource'] },
    { path: '* relations * some', kinds: ['resource'] },
    { path: '* relations * where', kinds: ['field'], about: ['some'] },
    { path: '* relations * relation', kinds: ['relation'], about: ['to', 'some'] },
    { path: '* relations * all *', kinds: ['relation'], about: 0 },
    { path: '* relations * any *', kinds: ['relation'], about: 0 },
  ],
  'conditions.yaml': [{ path: '* #', kinds: ['condition'], declares: true }],
  'limits.yaml': [
    { path: 'limits * match role', kinds: ['role'], words: CALLERS },
    { path: 'limits * match resource', kinds: ['resource'] },
    { path: 'limits * match action', kinds: ['action'], about: RESOURCE },
  ],
  'masks.yaml': [
    { path: 'facts * #', kinds: ['resource'] },
    { path: 'facts * *', kinds: ['field'], about: 1, words: ['*'] },
  ],
  'callers.yaml': [
    { path: '* #', kinds: ['role'] },
    { path: '* subjects * asserted *', kinds: ['role'] },
    { path: '* subjects * word *', kinds: ['role'] },
    { path: '* resources * #', kinds: ['resource'] },
    { path: '* actions * #', kinds: ['resource'], words: ['*'] },
    { path: '* actions * *', kinds: ['action'], about: 2 },
    { path: '* conditions * #', kinds: ['condition'] },
  ],
  'guarantees.yaml': [
    ...placesOfAct('* never', 'unless'),
    ...placesOfAct('* always', 'when'),
    ...placesOfAct('* apart *', 'when'),
    { path: '* roles-apart *', kinds: ['role'] },
    { path: '* at-most role', kinds: ['role'] },
    { path: '* ratchet resource', kinds: ['resource'] },
    { path: '* ratchet actions *', kinds: ['action'], about: RESOURCE },
  ],
  'approvals.yaml': [
    { path: 'needs touches * resource', kinds: ['resource'] },
    { path: 'break-glass roles *', kinds: ['role'] },
    { path: 'requests roles * #', kinds: ['role'] },
  ],
  'subscriptions.yaml': [{ path: '* resource', kinds: ['resource'] }],
}

/** The view of an answer is one of the resource of the path beside it. */
const PATH = ['path']

const CASES: readonly YamlPlace[] = [
  { path: '* steps * expect view', kinds: ['view'], about: PATH },
  { path: '* callers *', kinds: ['role'], separator: /\+/g, words: ['everyone', 'user:'] },
]

export function slotsOfYaml(name: string, text: string): readonly NameSlot[] {
  const places = (NAME_PLACES[name] ?? []).map((place) => ({ place, steps: place.path.split(' ') }))
  return slotsAt(text, places)
}

export function slotsOfCases(text: string, { routes }: Resources): readonly NameSlot[] {
  const slots = slotsAt(
    text,
    CASES.map((place) => ({ place, steps: place.path.split(' ') })),
  )
  return slots.map((slot) => ({
    ...slot,
    about: slot.about.flatMap((path) =>
      routes.filter((one) => isOnRoute(path, one.path)).map(({ resource }) => resource),
    ),
  }))
}

/** `{id}` of a route stands for any part of a path, which may be a name to fill in itself. */
function isOnRoute(path: string, route: string): boolean {
  const [parts, wanted] = [path.replace(/\?.*$/, '').split('/'), route.split('/')]
  return parts.length === wanted.length && wanted.every((part, i) => part === parts[i] || part.startsWith('{'))
}

interface SplitPlace {
  readonly place: YamlPlace
  readonly steps: readonly string[]
}

/** Also of a text with faults, as far as the parser understands it. */
function slotsAt(text: string, places: readonly SplitPlace[]): readonly NameSlot[] {
  const document = parseDocument(text, { uniqueKeys: false, strict: false, logLevel: 'silent' })
  return [...scalarsIn(document.contents, [])].flatMap(({ scalar, path, isKey }) => {
    const found = places.find(({ steps }) => fitsPath(steps, path, isKey))?.place
    const start = found && startOf(scalar, text)
    if (!found || start === undefined) return []
    const { kinds, separator, words = [], declares = false } = found
    return slotsIn(String(scalar.value), start, separator, {
      kinds,
      words,
      declares,
      about: aboutOf(found, path, document),
    })
  })
}

interface ScalarAt {
  readonly scalar: Scalar
  readonly path: Path
  readonly isKey: boolean
}

/** Deeper values are left out: no file of a policy has any. */
const DEEPEST = 20

function* scalarsIn(node: unknown, path: Path): Generator<ScalarAt> {
  if (path.length > DEEPEST) return
  if (isScalar(node)) yield { scalar: node, path, isKey: false }
  if (isSeq(node)) for (const [i, item] of node.items.entries()) yield* scalarsIn(item, [...path, i])
  if (!isMap(node)) return
  for (const { key, value } of node.items) {
    if (!isScalar(key)) continue
    const at = [...path, String(key.value)]
    yield { scalar: key, path: at, isKey: true }
    yield* scalarsIn(value, at)
  }
}

function fitsPath(steps: readonly string[], path: Path, isKey: boolean): boolean {
  const wanted = isKey ? [...path, '#'] : path
  const fits = (step: string, i: number) => step === '*' || step === wanted[i]
  return steps.length === wanted.length && steps.every(fits) && (steps.at(-1) === '#') === isKey
}

/** Undefined where the text isn't the name itself: for escapes, and for no value. */
function startOf({ range, value }: Scalar, text: string): number | undefined {
  if (!range || typeof value !== 'string') return undefined
  const start = /["']/.test(text[range[0]] ?? '') ? range[0] + 1 : range[0]
  return text.startsWith(value, start) ? start : undefined
}

function aboutOf({ about }: YamlPlace, path: Path, document: Document): readonly string[] {
  if (about === undefined) return []
  if (typeof about === 'number') return [String(path[about])]
  for (let length = path.length - 1; length > 0; length--) {
    for (const key of about) {
      const found = document.getIn([...path.slice(0, length), key])
      if (typeof found === 'string') return [found]
    }
  }
  return []
}
