/** What callers.yaml lets the caller assert, for a question about a route that answers other services. */
import { type CallerEntry, type SubjectSource, type Trust, trustOf } from '../../../decide/grants/trust.ts'
import { quote } from '../../../present/quote.ts'
import { type ExplainQuestion, explainRoles } from '../question.ts'

const ASKING = 'system/access'

export function trustNotes({ reviewed: { policy }, caller, request }: ExplainQuestion): readonly string[] {
  if (request.kind !== 'route' || request.route.resource !== ASKING || caller.kind !== 'caller') return []
  const roles = new Set(explainRoles(policy, caller).flatMap(({ name, inherits }) => [name, ...inherits]))
  const asker = { caller: caller.subject === undefined ? undefined : { id: caller.subject }, roles }
  const own = asker.caller && policy.callers.get(`user:${asker.caller.id}`)
  const entries = own ? [own] : [...roles].flatMap((role) => policy.callers.get(role) ?? [])
  return [`${countedText(entries)}: ${assertedText(trustOf(policy.callers, asker))}`]
}

function countedText(entries: readonly CallerEntry[]): string {
  const names = entries.map(({ name }) => quote(name)).join(' and ')
  if (entries.length === 0) return 'callers.yaml has no entry for the caller, so the defaults hold'
  return entries.length === 1
    ? `callers.yaml has the entry ${names}`
    : `callers.yaml has the entries ${names}, and what each of them gives counts`
}

function assertedText({ subjects, words, understandsFields, conditions }: Trust): string {
  const types = [...subjects].map(([type, source]) => `${quote(type)} (${sourceText(source)})`)
  const told = [...words].map(quote)
  return [
    types.length === 0 ? 'it may name no subjects' : `it may name subjects of ${types.join(', ')}`,
    told.length === 0 ? 'objects are as they are stored' : `it tells objects of ${told.join(', ')} that aren't stored`,
    ...(conditions.size === 0 ? [] : [`it tells the conditions ${[...conditions.keys()].map(quote).join(', ')}`]),
    ...(understandsFields ? ['it heeds `context.fields`'] : []),
  ].join('; ')
}

function sourceText(source: SubjectSource): string {
  if (source.kind === 'directory') return 'from the directory'
  if (source.kind === 'token') return 'by their tokens'
  const roles = [...source.roles].map(quote).join(', ')
  return roles === '' ? 'by its word, without roles' : `by its word, at most ${roles}`
}
