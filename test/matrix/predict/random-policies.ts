/** Random policies over the resources of kinds.ts, as the text of their files. */
import fc from 'fast-check'
import { stringify } from 'yaml'
import { type Kind as AnyKind, closureOf, KINDS, RELATIONS } from './kinds.ts'

const ROLES = ['clerk', 'agent', 'chief'] as const
const ACTIONS = ['list', 'read', 'create', 'replace', 'update', 'delete', 'options'] as const

type Kind = Extract<AnyKind, 'things' | 'users'>

/** What rules may name. */
interface Vocabulary {
  readonly roles: readonly string[]
  readonly relations: Readonly<Record<Kind, readonly string[]>>
  /** Of the request. */
  readonly conditions: readonly string[]
  readonly views: Readonly<Record<Kind, Readonly<Record<string, readonly string[]>>>>
}

const randomVocabulary: fc.Arbitrary<Vocabulary> = fc.record({
  roles: fc.subarray([...ROLES], { minLength: 1 }),
  relations: fc.record({ things: relationsOf('things', 3), users: relationsOf('users', 2) }),
  conditions: upTo(2, ['office', 'night', 'justIn', 'strong', 'machine']),
  views: fc.record({
    things: fc.record({ one: fieldsOf('things'), two: fieldsOf('things') }, { requiredKeys: [] }),
    users: fc.record({ one: fieldsOf('users') }, { requiredKeys: [] }),
  }),
})

/** policy.csv, roles.yaml, ownership.yaml, conditions.yaml and views.yaml. */
export const randomPolicyFiles: fc.Arbitrary<Readonly<Record<string, string>>> = randomVocabulary.chain((vocabulary) =>
  fc
    .record({
      rules: fc.array(randomRule(vocabulary), { minLength: 2, maxLength: 7 }),
      inherits: fc.boolean(),
      conceal: fc.constantFrom(undefined, 'things' as const, 'users' as const),
      listOwner: fc.boolean(),
    })
    .map(({ rules, inherits, conceal, listOwner }) => {
      const [first, second] = vocabulary.roles
      const links = inherits && second !== undefined ? [`g, ${first}, ${second}`] : []
      const textOf = (kind: Kind, name: string) =>
        listOwner && kind === 'things' && name === 'owner' ? 'members' : (RELATIONS[kind][name] ?? '')
      const closure = closureOfAll(vocabulary)
      const owned = (kind: Kind) => ({
        conceal: conceal === kind,
        relations: Object.fromEntries(Object.keys(closure[kind] ?? {}).map((name) => [name, textOf(kind, name)])),
      })
      const others = Object.fromEntries(
        (['boxes', 'seats'] as const).flatMap((kind) => {
          const relations = closure[kind] ?? {}
          return Object.keys(relations).length === 0 ? [] : [[kind, { relations }]]
        }),
      )
      return {
        'policy.csv': `${[...rules, ...links].join('\n')}\n`,
        'roles.yaml': stringify(Object.fromEntries(vocabulary.roles.map((role) => [role, { description: role }]))),
        'ownership.yaml': stringify({ ...others, things: owned('things'), users: owned('users') }),
        'conditions.yaml': CONDITIONS,
        'views.yaml': stringify(vocabulary.views),
      }
    }),
)

/** Of every kind, except that the run makes no tokens of OpenID providers. */
const CONDITIONS = stringify({
  office: { network: ['192.0.2.0/24', '2001:db8::/32'] },
  night: { days: 'mon-sun', from: '20:00', to: '06:00', zone: 'Europe/Berlin' },
  justIn: { signedIn: { within: '10m' } },
  strong: { signedIn: { acr: ['urn:example:mfa'] } },
  machine: { credential: ['api-key'] },
})

/** The relations of all kinds that these rest on. */
function closureOfAll({ relations }: Vocabulary): ReturnType<typeof closureOf> {
  const [things, users] = [closureOf('things', relations.things), closureOf('users', relations.users)]
  const kinds = Object.keys(RELATIONS) as AnyKind[]
  return Object.fromEntries(kinds.map((kind) => [kind, { ...things[kind], ...users[kind] }]))
}

function randomRule(vocabulary: Vocabulary): fc.Arbitrary<string> {
  const about = fc.constantFrom<readonly Kind[]>(['things'], ['things'], ['users'], ['things', 'users'])
  return about.chain((kinds) => {
    const relations = [...new Set(kinds.flatMap((kind) => vocabulary.relations[kind]))]
    const views = [...new Set(kinds.flatMap((kind) => Object.keys(vocabulary.views[kind])))]
    return fc
      .record({
        subject: fc.constantFrom(...vocabulary.roles, ...vocabulary.roles, 'everyone', 'anonymous', 'user:zoe'),
        actions: fc.oneof(fc.subarray([...ACTIONS], { minLength: 1, maxLength: 4 }), fc.constant(['*'])),
        terms: termsOf(relations, vocabulary.conditions),
        result: fc.option(termsOf(relations, []), { freq: 2 }),
        views: fc.oneof(fc.constant([]), upTo(2, views)),
        effect: fc.constantFrom('allow', 'allow', 'allow', 'deny'),
      })
      .map((rule) => {
        // A right side needs an action that only writes to stored objects.
        const writes = (rule.actions as readonly string[]).filter(
          (action) => action === 'replace' || action === 'update',
        )
        const { actions, result } = writes.length > 0 ? { ...rule, actions: writes } : { ...rule, result: null }
        const cells = [kinds.length > 1 ? '*' : (kinds[0] ?? ''), (result ? actions : rule.actions).join('|')]
        // A wall around several resources must not have gaps where one lacks the relation.
        const isWall = kinds.length > 1 && rule.effect === 'deny'
        const sideOf = (terms: readonly string[]) => terms.join('+').replaceAll(isWall ? '!' : /^$/g, '') || 'any'
        const column = [rule.terms, ...(result ? [result] : [])].map(sideOf).join('>')
        return ['p', rule.subject, ...cells, column, rule.views.join('|') || '*', rule.effect].join(', ')
      })
  })
}

/** Up to two relations and one condition, each of which may be negated. */
function termsOf(relations: readonly string[], conditions: readonly string[]): fc.Arbitrary<readonly string[]> {
  const names = fc.tuple(upTo(2, relations), fc.oneof(fc.constant([]), upTo(1, conditions)))
  return fc
    .tuple(
      fc.oneof(
        fc.constant([]),
        names.map((some) => some.flat()),
      ),
      fc.array(fc.boolean(), { minLength: 3 }),
    )
    .map(([some, flips]) => some.map((name, i) => (flips[i] && flips[i + 1] ? `!${name}` : name)))
}

function relationsOf(kind: Kind, maxLength: number): fc.Arbitrary<readonly string[]> {
  const others = Object.keys(RELATIONS[kind]).filter((name) => name !== 'owner')
  return fc
    .tuple(fc.constantFrom(['owner'], ['owner'], []), upTo(maxLength, others))
    .map(([owner, some]) => [...owner, ...some])
}

function fieldsOf(kind: Kind): fc.Arbitrary<readonly string[]> {
  return fc.subarray([...(KINDS.byName.get(kind)?.fields.keys() ?? [])], { minLength: 1 })
}

function upTo(maxLength: number, names: readonly string[]): fc.Arbitrary<readonly string[]> {
  return fc.subarray([...names], { maxLength: Math.min(maxLength, names.length) })
}
