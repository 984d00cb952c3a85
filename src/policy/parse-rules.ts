/** policy.csv -> rules and role links. What Casbin would take in silence is an error here, with its place. */
import type { Diagnostic } from '../problems/diagnostic.ts'
import type { Resource, Resources } from '../resources/resource.ts'
import type { Ownership, Role, RoleLink, Rule, Views } from './policy.ts'
import type { SourceFile } from './policy-files.ts'
import { EXAMPLE, type Fault, hasLinkColumns, hasRuleColumns, parseEnd } from './rule-columns.ts'
import { type RuleLine, readRuleLines } from './rule-lines.ts'

/** What the cells of a rule may name. */
export interface Vocabulary {
  readonly resources: Resources
  readonly roles: ReadonlyMap<string, Role>
  readonly ownership: ReadonlyMap<string, Ownership>
  readonly views: ReadonlyMap<string, Views>
}

interface RuleSet {
  readonly rules: readonly Rule[]
  readonly links: readonly RoleLink[]
}

/** Columns of a `p` line; 0 is the `p` itself. */
const COLUMN = { subject: 1, resource: 2, action: 3, relation: 4, fields: 5, effect: 6 } as const

export function parseRules(
  source: SourceFile,
  vocabulary: Vocabulary,
  report: (diagnostic: Diagnostic) => void,
): RuleSet {
  const rules: Rule[] = []
  const links: RoleLink[] = []
  for (const line of readRuleLines(source, report)) {
    const fault: Fault = (cell, code, message, hint) =>
      report({ ...line.placeOf(cell), code, severity: 'error', message, ...(hint ? { hint } : {}) })
    const kind = line.cells[0] ?? ''
    if (kind === 'p') rules.push(...parseRule(line, vocabulary, fault))
    else if (kind === 'g') links.push(...parseLink(line, vocabulary, fault))
    else fault(0, 'rule-kind', `a line begins with \`p\` or \`g\`, not \`${kind}\``, `as in: ${EXAMPLE}`)
  }
  reportCycles(links, source, report)
  return { rules, links }
}

function parseRule({ line, cells }: RuleLine, vocabulary: Vocabulary, fault: Fault): readonly Rule[] {
  if (!hasRuleColumns(cells, fault)) return []
  const [, subject = '', resource = '', action = '', relation = '', fields = '', effect = ''] = cells
  const end = parseEnd(cells, fault)
  const sound = [
    soundSubject(subject, vocabulary, fault),
    soundResource(resource, vocabulary, fault),
    soundEffect(effect, fault),
    end !== undefined,
  ]
  const covered = coveredBy(resource, vocabulary.resources)
  if (covered.length > 0) {
    sound.push(
      soundActions(split(action, '|'), covered, fault),
      soundRelations(split(relation, '+'), covered, vocabulary, fault),
      soundViews(split(fields, '|'), covered, vocabulary, fault),
    )
  }
  if (sound.includes(false)) return []
  return [
    {
      line,
      subject,
      resource,
      actions: split(action, '|'),
      relations: relation === 'any' ? [] : split(relation, '+').sort(),
      views: split(fields, '|'),
      effect: effect as Rule['effect'],
      ...end,
    },
  ]
}

function parseLink({ line, cells }: RuleLine, { roles }: Vocabulary, fault: Fault): readonly RoleLink[] {
  if (!hasLinkColumns(cells, fault)) return []
  const [, role = '', inherits = ''] = cells
  let sound = true
  for (const [cell, name] of [role, inherits].entries()) {
    if (roles.has(name)) continue
    sound = false
    fault(cell + 1, 'unknown-role', `the role \`${name}\` is not declared in roles.yaml`, 'g links declared roles only')
  }
  return sound ? [{ line, role, inherits }] : []
}

function soundSubject(subject: string, { roles }: Vocabulary, fault: Fault): boolean {
  if (subject === 'everyone' || subject === 'anonymous' || roles.has(subject)) return true
  if (/^user:/.test(subject)) {
    const id = subject.slice('user:'.length)
    if (id === id.trim() && id !== '' && [...id].length <= 128) return true
    const message = 'a user id has 1 to 128 characters, with no space at its ends'
    fault(COLUMN.subject, 'user-id', message, 'write user:<id>')
    return false
  }
  const hint = `declare it in roles.yaml, or write everyone, anonymous or user:<id>${near(subject, [...roles.keys(), 'everyone', 'anonymous'])}`
  fault(COLUMN.subject, 'unknown-role', `the role \`${subject}\` is not declared`, hint)
  return false
}

function soundResource(resource: string, { resources }: Vocabulary, fault: Fault): boolean {
  if (coveredBy(resource, resources).length > 0) return true
  const known = [...resources.byName.keys(), '*', 'system/*']
  const hint = `one of ${known.join(', ')}${near(resource, known)}`
  fault(COLUMN.resource, 'unknown-resource', `no schema declares the resource \`${resource}\``, hint)
  return false
}

function soundEffect(effect: string, fault: Fault): boolean {
  if (effect === 'allow' || effect === 'deny') return true
  const hint = effect.includes('#') ? 'put the comment on a line of its own' : 'write allow or deny, exactly so'
  fault(COLUMN.effect, 'unknown-effect', `\`${effect}\` is not an effect`, hint)
  return false
}

function soundActions(actions: readonly string[], covered: readonly Resource[], fault: Fault): boolean {
  const known = new Set(covered.flatMap((resource) => [...resource.actions.keys()]))
  return soundNames(
    actions,
    '*',
    (name) => {
      if (known.has(name)) return true
      const hint = `one of ${[...known].join(', ')}, or * for all${near(name, [...known])}`
      fault(COLUMN.action, 'unknown-action', `the action \`${name}\` is not known here`, hint)
      return false
    },
    (message) => fault(COLUMN.action, 'action-list', message, 'as in: list|read'),
  )
}

function soundRelations(
  relations: readonly string[],
  covered: readonly Resource[],
  { ownership }: Vocabulary,
  fault: Fault,
): boolean {
  const known = new Set(covered.flatMap(({ name }) => [...(ownership.get(name)?.relations.keys() ?? [])]))
  return soundNames(
    relations,
    'any',
    (name) => {
      if (known.has(name)) return true
      const hint = `declare it in ownership.yaml, or write any${near(name, [...known, 'any'])}`
      fault(COLUMN.relation, 'unknown-relation', `the relation \`${name}\` is not declared for this resource`, hint)
      return false
    },
    (message) => fault(COLUMN.relation, 'relation-list', message, 'as in: owner+draft'),
  )
}

function soundViews(
  views: readonly string[],
  covered: readonly Resource[],
  vocabulary: Vocabulary,
  fault: Fault,
): boolean {
  const known = new Set(covered.flatMap(({ name }) => [...(vocabulary.views.get(name)?.keys() ?? [])]))
  return soundNames(
    views,
    '*',
    (name) => {
      if (known.has(name)) return true
      const hint = `declare it in views.yaml, or write * for all fields${near(name, [...known])}`
      fault(COLUMN.fields, 'unknown-view', `the view \`${name}\` is not declared for this resource`, hint)
      return false
    },
    (message) => fault(COLUMN.fields, 'view-list', message, 'as in: public|contact'),
  )
}

/** Every name is known, none stands twice, and the one that means all stands alone. */
function soundNames(
  names: readonly string[],
  whole: string,
  isKnown: (name: string) => boolean,
  fault: (message: string) => void,
): boolean {
  if (names.length === 1 && names[0] === whole) return true
  if (names.includes(whole)) {
    fault(`\`${whole}\` stands alone`)
    return false
  }
  if (new Set(names).size < names.length) {
    fault('a name stands twice in one cell')
    return false
  }
  return names.map(isKnown).every(Boolean)
}

function coveredBy(resource: string, { byName }: Resources): readonly Resource[] {
  const exact = byName.get(resource)
  if (exact) return [exact]
  if (resource !== '*' && resource !== 'system/*') return []
  return [...byName.values()].filter(({ builtIn }) => builtIn === (resource === 'system/*'))
}

/** Casbin follows a cycle without end, or stops at ten links. */
function reportCycles(links: readonly RoleLink[], { name }: SourceFile, report: (d: Diagnostic) => void): void {
  const parents = Map.groupBy(links, (link) => link.role)
  for (const { line, role, inherits } of links) {
    const reached = new Set([inherits])
    for (const next of reached) for (const link of parents.get(next) ?? []) reached.add(link.inherits)
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

function split(cell: string, separator: string): string[] {
  return cell.split(separator)
}

/** A suggestion for a name in wrong case or with a stray character at its ends. */
function near(name: string, known: readonly string[]): string {
  const bare = (text: string) => text.toLowerCase().replace(/[^a-z0-9/*]/g, '')
  const found = known.find((candidate) => bare(candidate) === bare(name))
  return found === undefined ? '' : `; did you mean ${found}?`
}
