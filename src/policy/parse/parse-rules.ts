/** Parses policy.csv into rules and role links. Mistakes that Casbin accepts in silence are errors here. */
import type { FaultReporter, SourceFile } from '../../base/diagnostic.ts'
import { didYouMean } from '../../base/did-you-mean.ts'
import type { RoleLink, Rule } from '../../decide/policy.ts'
import { leavesOf } from '../../decide/relations/all-kinds.ts'
import type { Relation } from '../../decide/relations/relation-kind.ts'
import { isAbout, namesIn } from '../../decide/rules/terms.ts'
import { reportGap } from './relation-column.ts'
import { type CellFault, EXAMPLE, hasLinkColumns, hasRuleColumns, parseEnd } from './rule-columns.ts'
import { type RuleLine, readRuleLines } from './rule-lines.ts'
import { coveredResources, parseScope, type RuleScope, type RuleVocabulary, SCOPE_COLUMN } from './rule-scope.ts'

interface RuleSet {
  readonly rules: readonly Rule[]
  readonly links: readonly RoleLink[]
}

export function parseRules(source: SourceFile, vocabulary: RuleVocabulary, report: FaultReporter): RuleSet {
  const rules: Rule[] = []
  const links: RoleLink[] = []
  const known = new Map<string, RuleScope>()
  for (const line of readRuleLines(source, report)) {
    const fault: CellFault = (cell, code, message, hint) =>
      report({ ...line.placeOf(cell), code, severity: 'error', message, hint })
    const kind = line.cells[0] ?? ''
    if (kind === 'p') rules.push(...parseRule(line, { vocabulary, known }, fault))
    else if (kind === 'g') links.push(...parseLink(line, vocabulary, fault))
    else fault(0, 'rule-kind', `the line begins with \`${kind}\``, `begin it with p or g, as in: ${EXAMPLE}`)
  }
  reportCycles(links, source, report)
  reportTooManyLeaves(rules, vocabulary, (line, code, message, hint) =>
    report({ file: source.name, line, column: 1, code, severity: 'error', message, hint }),
  )
  return { rules, links }
}

/** With more, nobody could look at all cells, and neither could the tools. */
const MOST_LEAVES = 12

function reportTooManyLeaves(
  rules: readonly Rule[],
  { resources, ownership }: RuleVocabulary,
  fault: (line: number, code: string, message: string, hint: string) => void,
): void {
  for (const resource of resources.byName.values()) {
    const relations = ownership.get(resource.name)?.relations ?? new Map<string, Relation>()
    const leavesOfAll = new Set([...relations.values()].flatMap(leavesOf))
    if (leavesOfAll.size <= MOST_LEAVES) continue
    for (const action of resource.actions.values()) {
      const leaves = new Set<Relation>()
      const beyond = rules.find((rule) => {
        if (!isAbout(rule, { resource, action })) return false
        for (const name of namesIn(rule)) for (const leaf of leavesFor(relations.get(name))) leaves.add(leaf)
        return leaves.size > MOST_LEAVES
      })
      if (!beyond) continue
      const message = `the rules about ${action.name} on ${resource.name} name more than ${MOST_LEAVES} relations`
      fault(
        beyond.line,
        'too-many-relations',
        message,
        'join some of them in one relation, by a field that says the same',
      )
    }
  }
}

function leavesFor(relation: Relation | undefined): readonly Relation[] {
  return relation ? leavesOf(relation) : []
}

interface Scopes {
  readonly vocabulary: RuleVocabulary
  /** The valid scopes by the text of their cells: ten thousand rules have a few hundred different ones. */
  readonly known: Map<string, RuleScope>
}

function parseRule({ line, cells }: RuleLine, { vocabulary, known }: Scopes, fault: CellFault): readonly Rule[] {
  if (!hasRuleColumns(cells, fault)) return []
  const [, subject = '', resource = '', action = '', relation = '', fields = '', effect = ''] = cells
  const end = parseEnd(cells, fault)
  const sound = [soundSubject(subject, vocabulary, fault), soundEffect(effect, fault), end !== undefined]
  // No valid name contains a comma.
  const key = [resource, action, relation, fields].join()
  const scope = known.get(key) ?? parseScope([resource, action, relation, fields], vocabulary, fault)
  if (scope) known.set(key, scope)
  if (!scope || sound.includes(false)) return []
  if (effect === 'deny' && resource === '*') {
    const { resources, ownership, conditions } = vocabulary
    const covered = coveredResources(resource, resources)
    reportGap(scope, { ownership, conditions, covered, actions: scope.actions }, fault)
  }
  const rule = { ...scope, line, subject, effect: effect as Rule['effect'] }
  return [end?.until === undefined ? rule : { ...rule, until: end.until }]
}

function parseLink({ line, cells }: RuleLine, { roles }: RuleVocabulary, fault: CellFault): readonly RoleLink[] {
  if (!hasLinkColumns(cells, fault)) return []
  const [, role = '', inherits = ''] = cells
  let sound = true
  for (const [cell, name] of [role, inherits].entries()) {
    if (roles.has(name)) continue
    sound = false
    const hint = () => `declare it, or name a declared role${didYouMean(name, roles.keys())}`
    fault(cell + 1, 'unknown-role', `the role \`${name}\` is not declared in roles.yaml`, hint)
  }
  return sound ? [{ line, role, inherits }] : []
}

function soundSubject(subject: string, { roles }: RuleVocabulary, fault: CellFault): boolean {
  if (subject === 'everyone' || subject === 'anonymous' || roles.has(subject)) return true
  if (/^user:/.test(subject)) {
    const id = subject.slice('user:'.length)
    if (id === id.trim() && id !== '' && [...id].length <= 128) return true
    const message = 'the user id is empty, has more than 128 characters, or has a space at an end'
    fault(SCOPE_COLUMN.subject, 'user-id', message, 'write user:<id>')
    return false
  }
  const hint = () => {
    const meant = didYouMean(subject, [...roles.keys(), 'everyone', 'anonymous'])
    return `declare it in roles.yaml, or write everyone, anonymous or user:<id>${meant}`
  }
  fault(SCOPE_COLUMN.subject, 'unknown-role', `the role \`${subject}\` is not declared`, hint)
  return false
}

function soundEffect(effect: string, fault: CellFault): boolean {
  if (effect === 'allow' || effect === 'deny') return true
  const hint = effect.includes('#') ? 'write the comment on a separate line' : 'write exactly allow or deny'
  fault(SCOPE_COLUMN.effect, 'unknown-effect', `\`${effect}\` is not an effect`, hint)
  return false
}

/** Casbin follows a cycle without end, or stops at ten links. */
function reportCycles(links: readonly RoleLink[], { name }: SourceFile, report: FaultReporter): void {
  const parents = new Map<string, Set<string>>()
  for (const { role, inherits } of links) parents.set(role, (parents.get(role) ?? new Set()).add(inherits))
  const closures = new Map<string, ReadonlySet<string>>()
  for (const { line, role, inherits } of links) {
    const reached = closures.get(inherits) ?? closureOf(inherits, parents)
    closures.set(inherits, reached)
    if (!reached.has(role)) continue
    const message = `the role \`${role}\` inherits itself through \`${inherits}\``
    report({
      file: name,
      line,
      column: 1,
      code: 'role-cycle',
      severity: 'error',
      message,
      hint: 'remove one of the g lines',
    })
  }
}

function closureOf(role: string, parents: ReadonlyMap<string, ReadonlySet<string>>): ReadonlySet<string> {
  const reached = new Set([role])
  // A Set's iterator also visits what is added while it runs.
  for (const next of reached) for (const parent of parents.get(next) ?? []) reached.add(parent)
  return reached
}
