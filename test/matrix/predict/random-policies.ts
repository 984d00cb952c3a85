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
  readonly views: Readonly<Record<Kind, Readonly<Record<string, readonly string[]>>>>
}

const randomVocabulary: fc.Arbitrary<Vocabulary> = fc.record({
  roles: fc.subarray([...ROLES], { minLength: 1 }),
  relations: fc.record({ things: relationsOf('things', 3), users: relationsOf('users', 2) }),
  views: fc.record({
    things: fc.record({ one: fieldsOf('things'), two: fieldsOf('things') }, { requiredKeys: [] }),
    users: fc.record({ one: fieldsOf('users') }, { requiredKeys: [] }),
  }),
})

/** policy.csv, roles.yaml, ownership.yaml and views.yaml. */
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
      const owned = (kind: Kind) => ({
        conceal: conceal === kind,
        relations: Object.fromEntries(
          Object.keys(closureOf(kind, vocabulary.relations[kind])[kind] ?? {}).map((name) => [
            name,
            textOf(kind, name),
          ]),
        ),
      })
      return {
        'policy.csv': `${[...rules, ...links].join('\n')}\n`,
        'roles.yaml': stringify(Object.fromEntries(vocabulary.roles.map((role) => [role, { description: role }]))),
        'ownership.yaml': stringify({ things: owned('things'), users: owned('users') }),
        'views.yaml': stringify(vocabulary.views),
      }
    }),
)

function randomRule(vocabulary: Vocabulary): fc.Arbitrary<string> {
  const about = fc.constantFrom<readonly Kind[]>(['things'], ['things'], ['users'], ['things', 'users'])
  return about.chain((kinds) => {
    const relations = [...new Set(kinds.flatMap((kind) => vocabulary.relations[kind]))]
    const views = [...new Set(kinds.flatMap((kind) => Object.keys(vocabulary.views[kind])))]
    return fc
      .record({
        subject: fc.constantFrom(...vocabulary.roles, ...vocabulary.roles, 'everyone', 'anonymous', 'user:zoe'),
        actions: fc.oneof(fc.subarray([...ACTIONS], { minLength: 1, maxLength: 4 }), fc.constant(['*'])),
        relations: fc.oneof(fc.constant([]), upTo(2, relations)),
        views: fc.oneof(fc.constant([]), upTo(2, views)),
        effect: fc.constantFrom('allow', 'allow', 'allow', 'deny'),
      })
      .map((rule) => {
        const cells = [kinds.length > 1 ? '*' : (kinds[0] ?? ''), rule.actions.join('|')]
        const relation = rule.relations.join('+') || 'any'
        return ['p', rule.subject, ...cells, relation, rule.views.join('|') || '*', rule.effect].join(', ')
      })
  })
}

function relationsOf(kind: Kind, maxLength: number): fc.Arbitrary<readonly string[]> {
  const others = Object.keys(RELATIONS[kind]).filter((name) => name !== 'owner' && isAlone(kind, name))
  return fc
    .tuple(fc.constantFrom(['owner'], ['owner'], []), upTo(maxLength, others))
    .map(([owner, some]) => [...owner, ...some])
}

/** Whether it rests on no other object. */
function isAlone(kind: Kind, name: string): boolean {
  return Object.values(closureOf(kind, [name])[kind] ?? {}).every(
    (text) => typeof text === 'string' || !('through' in text || 'some' in text),
  )
}

function fieldsOf(kind: Kind): fc.Arbitrary<readonly string[]> {
  return fc.subarray([...(KINDS.byName.get(kind)?.fields.keys() ?? [])], { minLength: 1 })
}

function upTo(maxLength: number, names: readonly string[]): fc.Arbitrary<readonly string[]> {
  return fc.subarray([...names], { maxLength: Math.min(maxLength, names.length) })
}
