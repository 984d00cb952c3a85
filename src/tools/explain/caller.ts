/** Who asks: the subjects that rules can mean, and how each of them comes to be one of the caller's. */
import type { Policy, RoleLink } from '../../decide/policy.ts'
import { inheritedBy } from '../../decide/space.ts'
import type { ExplainedRole } from './explanation.ts'
import { placeOf } from './place.ts'

/** Without a subject: somebody with credentials, whoever it is. */
export type Asker =
  | { readonly kind: 'anonymous' }
  | { readonly kind: 'caller'; readonly subject: string | undefined; readonly roles: readonly string[] }

/** semantics.md, "Subjects of a caller". */
export function subjectsOf(policy: Policy, asker: Asker): ReadonlySet<string> {
  if (asker.kind === 'anonymous') return new Set(['everyone', 'anonymous'])
  const roles = asker.roles.filter((role) => policy.roles.has(role)).flatMap((role) => [...inheritedBy(policy, role)])
  return new Set(['everyone', ...(asker.subject === undefined ? [] : [`user:${asker.subject}`]), ...roles])
}

export function explainRoles(policy: Policy, asker: Asker): readonly ExplainedRole[] {
  const roles = asker.kind === 'anonymous' ? [] : asker.roles
  return [...new Set(roles)].map((name) => {
    const declared = policy.roles.has(name)
    return { name, declared, inherits: declared ? [...inheritedBy(policy, name)].filter((role) => role !== name) : [] }
  })
}

/** The `g` lines by which a role that the caller doesn't hold is inherited; undefined for any other subject. */
export function explainInheritance(policy: Policy, asker: Asker, subject: string): string | undefined {
  if (asker.kind === 'anonymous' || asker.roles.includes(subject) || !policy.roles.has(subject)) return undefined
  const chains = asker.roles.filter((role) => policy.roles.has(role)).map((role) => chainTo(policy, role, subject))
  const shortest = chains.filter((chain) => chain.length > 0).toSorted((a, b) => a.length - b.length)[0]
  return shortest?.map((link) => `${link.role} inherits ${link.inherits} (${placeOf(link)})`).join(', ')
}

/** The shortest chain of links from one role to another; empty when there is none. */
function chainTo({ links }: Policy, from: string, to: string): readonly RoleLink[] {
  const chains = new Map<string, readonly RoleLink[]>([[from, []]])
  // A Map's iterator also visits what is added while it runs.
  for (const [role, chain] of chains) {
    for (const link of links) {
      if (link.role === role && !chains.has(link.inherits)) chains.set(link.inherits, [...chain, link])
    }
  }
  return chains.get(to) ?? []
}
