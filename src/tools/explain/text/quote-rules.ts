/**
 * Lines of the policy files: their places, their text, and the role links that connect a rule's role with the caller.
 */
import { timeText } from '../../../base/time.ts'
import { rulePlace } from '../../../decide/evidence.ts'
import type { Policy, RoleLink, Rule } from '../../../decide/policy.ts'
import { readBlocks } from '../../../policy/parse/parse-blocked.ts'
import { printable } from '../../../present/quote.ts'
import type { LoadedPolicy } from '../../load-policy.ts'
import type { ExplainedRule, QuotedRule } from '../explanation.ts'
import type { AskingCaller } from '../request.ts'

export function ruleLines(
  reviewed: LoadedPolicy,
  caller: AskingCaller,
  rules: readonly Rule[],
): readonly ExplainedRule[] {
  return quoteRules(reviewed, rules).map((quoted, i) => {
    const { effect = 'deny', subject = '', until } = rules[i] ?? {}
    const through = explainInheritance(reviewed.policy, caller, subject) ?? null
    return { ...quoted, effect, through, until: until === undefined ? null : timeText(until) }
  })
}

export function quoteRules({ files }: LoadedPolicy, rules: readonly Rule[]): readonly QuotedRule[] {
  const texts = files['policy.csv'].text.split(/\r?\n/)
  return rules.map((rule) => ({
    place: rulePlace(rule.line),
    text: printable((texts[rule.line - 1] ?? '').trim().replaceAll(/[ \t]+/g, ' ')),
  }))
}

/**
 * The `g` lines through which the caller inherits a role; undefined for other subjects and for the caller's own roles.
 */
function explainInheritance(policy: Policy, caller: AskingCaller, subject: string): string | undefined {
  if (caller.kind === 'anonymous' || caller.roles.includes(subject) || !policy.roles.has(subject)) return undefined
  const chains = caller.roles.filter((role) => policy.roles.has(role)).map((role) => chainTo(policy, role, subject))
  const shortest = chains.filter((chain) => chain.length > 0).toSorted((a, b) => a.length - b.length)[0]
  return shortest?.map((link) => `${link.role} inherits ${link.inherits} (${rulePlace(link.line)})`).join(', ')
}

/** The shortest chain of links from one role to another; empty if no link leads there. */
function chainTo({ links }: Policy, from: string, to: string): readonly RoleLink[] {
  const chains = new Map<string, readonly RoleLink[]>([[from, []]])
  // A Map's iterator also visits entries that are added while it runs.
  for (const [role, chain] of chains) {
    for (const link of links) {
      if (link.role === role && !chains.has(link.inherits)) chains.set(link.inherits, [...chain, link])
    }
  }
  return chains.get(to) ?? []
}

/** The line that blocks a caller; if there are several, the one that blocks longest. */
export function blockPlace({ blocked, blockedFile }: LoadedPolicy, subject: string): string {
  const until = blocked.get(subject)?.until
  const block = readBlocks(blockedFile).find((one) => one.id === subject && one.until === until)
  return `blocked.txt:${block?.place.line}`
}
