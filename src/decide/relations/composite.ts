/** Relations of the same object together: `{ all: [member, open] }`, `{ any: [owner, member] }`. */
import { listed, say } from '../../present/phrase.ts'
import type { KindOf, Relation, RelationKind, RelationParts } from './relation-kind.ts'

export interface CompositeRelation extends RelationParts {
  readonly kind: 'composite'
  readonly name: string
}

type CompositeForm = { readonly all: readonly string[] } | { readonly any: readonly string[] }

export function compositeKind(kindOf: KindOf): RelationKind<CompositeRelation, CompositeForm> {
  const joined = ({ need, of }: CompositeRelation) =>
    of.map((part) => kindOf(part).describe(part)).join(need === 'all' ? ' and ' : ' or ')
  return {
    isForm: (form): form is CompositeForm =>
      typeof form === 'object' && form !== null && ('all' in form || 'any' in form),
    parse(name, form, { resource, relationOf }) {
      const [need, names] = 'all' in form ? (['all', form.all] as const) : (['any', form.any] as const)
      const of = names.map((part, i) => relationOf(resource.name, part, [need, i]))
      const known = of.filter((part) => part !== undefined)
      return known.length < of.length ? undefined : { kind: 'composite', name, need, of: known }
    },

    fields: ({ of }) => [...new Set(of.flatMap((part) => kindOf(part).fields(part)))],
    attributes: ({ of }) => [...new Set(of.flatMap((part) => kindOf(part).attributes(part)))],
    parts: (relation) => relation,

    // Of no consequence: the second decision is made part by part.
    onResultOfWrite: 'proposed',
    condition: ({ need, of }, asking) => ({
      kind: need === 'all' ? 'all' : 'some',
      of: of.map((part) => kindOf(part).condition(part, asking)),
    }),
    couldHold({ need, of }, has) {
      const could = of.map((part) => kindOf(part).couldHold(part, has))
      return need === 'all' ? could.every(Boolean) : could.some(Boolean)
    },

    describe: joined,
    define: ({ need, of }) => say`${need} of ${listed(of.map(({ name }) => name))}`,
    explain({ need, of }, known) {
      const reasons = of.map((part) => ({ name: part.name, ...kindOf(part).explain(part, known) }))
      const decisive = reasons.find(({ holds }) => holds === (need === 'any'))
      if (decisive) return { ...decisive, why: `${decisive.name}: ${decisive.why}` }
      const unknown = reasons.find(({ holds }) => holds === null)
      if (unknown) return { holds: null, why: `${unknown.name}: ${unknown.why}` }
      const holds = need === 'all'
      return { holds, why: reasons.map(({ name, why }) => `${name}: ${why}`).join(holds ? ' and ' : ', ') }
    },

    meaning({ need, of }) {
      return JSON.stringify([need, ...of.map((part) => kindOf(part).meaning(part)).sort()])
    },
    reach(before, after) {
      if (before.need !== after.need) return undefined
      const names = (relation: CompositeRelation) => new Set(relation.of.map((part) => kindOf(part).meaning(part)))
      const [old, current] = [names(before), names(after)]
      const grows = before.need === 'any' ? 'more' : 'fewer'
      if (old.isSubsetOf(current)) return grows
      return current.isSubsetOf(old) ? (grows === 'more' ? 'fewer' : 'more') : undefined
    },
    /** All and any mixed up, one part dropped, or one part replaced. */
    mistakes({ name, need, of }, { name: resource }, { relationsOf }) {
      const names = of.map((part) => part.name)
      const form = (wanted: RelationParts['need'], parts: readonly string[]) =>
        wanted === 'all' ? { all: parts } : { any: parts }
      const others = [...relationsOf(resource)].filter(
        (one) => !names.includes(one.name) && !restsOn(kindOf, one, name),
      )
      return [
        ...(names.length > 1 ? [form(need === 'all' ? 'any' : 'all', names)] : []),
        ...(names.length > 1
          ? names.map((left) =>
              form(
                need,
                names.filter((part) => part !== left),
              ),
            )
          : []),
        ...names.flatMap((left) =>
          others.map((other) =>
            form(
              need,
              names.map((part) => (part === left ? other.name : part)),
            ),
          ),
        ),
      ]
    },
  }
}

/** Whether a relation is this one of the same object, or has it among its parts. */
function restsOn(kindOf: KindOf, relation: Relation, name: string): boolean {
  return (
    relation.name === name || (kindOf(relation).parts?.(relation).of ?? []).some((one) => restsOn(kindOf, one, name))
  )
}
