/** A policy as plain data -> the files that say it, as a person would write them. */
import { readFileSync } from 'node:fs'
import { stringify } from 'yaml'
import type { PolicyFileName, PolicyFiles } from '../../src/policy/policy-files.ts'
import type { OraclePolicy, OracleRelation, OracleRule } from './world.ts'

export const SHIPPED_MODEL = readFileSync(new URL('../../policies/model.conf', import.meta.url), 'utf8')

const LIMITS = 'body: 100kb\npage: { default: 50, max: 200 }\nlimits: {}\n'

/** How lines are written; none of it changes what they say. */
export interface Layout {
  readonly lineEnd: '\n' | '\r\n'
  readonly padding: '' | ' ' | '\t'
  readonly comments: boolean
}

export function render(policy: OraclePolicy, layout: Layout): PolicyFiles {
  return filesOf({
    'policy.csv': rulesText(policy, layout),
    'roles.yaml': stringify(Object.fromEntries(policy.roles.map((role) => [role, { description: `The ${role}.` }]))),
    'ownership.yaml': stringify(
      Object.fromEntries(
        [...policy.relations].map(([name, relations]) => {
          const conceal = policy.conceal?.has(name) ? { conceal: true } : {}
          return [name, { ...conceal, relations: mapToObject(relations, relationText) }]
        }),
      ),
    ),
    ...(policy.conditions && { 'conditions.yaml': stringify(Object.fromEntries(policy.conditions)) }),
    ...(policy.apart && {
      'guarantees.yaml': stringify(policy.apart.map((roles, i) => ({ name: `apart ${i}`, 'roles-apart': roles }))),
    }),
    'views.yaml': stringify(mapToObject(policy.views, (views) => Object.fromEntries(views))),
  })
}

/** The files given, and for the others the least that is valid. */
export function filesOf(texts: Partial<Record<PolicyFileName, string>>): PolicyFiles {
  const file = (name: PolicyFileName, otherwise = '') => ({ name, text: texts[name] ?? otherwise })
  return {
    'model.conf': file('model.conf', SHIPPED_MODEL),
    'policy.csv': file('policy.csv'),
    'roles.yaml': file('roles.yaml'),
    'ownership.yaml': file('ownership.yaml'),
    'views.yaml': file('views.yaml'),
    'limits.yaml': file('limits.yaml', LIMITS),
    ...(texts['conditions.yaml'] === undefined ? {} : { 'conditions.yaml': file('conditions.yaml') }),
    ...(texts['approvals.yaml'] === undefined ? {} : { 'approvals.yaml': file('approvals.yaml') }),
    ...(texts['guarantees.yaml'] === undefined ? {} : { 'guarantees.yaml': file('guarantees.yaml') }),
    ...(texts['callers.yaml'] === undefined ? {} : { 'callers.yaml': file('callers.yaml') }),
    ...(texts['masks.yaml'] === undefined ? {} : { 'masks.yaml': file('masks.yaml') }),
  }
}

function rulesText({ rules, links }: OraclePolicy, { lineEnd, padding, comments }: Layout): string {
  const lines = [
    ...rules.map((rule) => [...ruleCells(rule), ...endCells(rule)]),
    ...links.toReversed().map(({ role, inherits }) => ['g', role, inherits]),
  ].map((cells) => cells.map(quoted).join(`,${padding}`) + padding)
  return (comments ? lines.flatMap((line, i) => [`# "${i}", p`, line, '']) : lines).join(lineEnd)
}

/** The cells of a `p` line. */
export function ruleCells({
  subject,
  resource,
  actions,
  relations,
  after,
  views,
  effect,
}: OracleRule): readonly string[] {
  const sides = after ? [relations, after] : [relations]
  const relation = sides.map((terms) => terms.join('+') || 'any').join('>')
  return ['p', subject, resource, actions.join('|'), relation, views.join('|'), effect]
}

/** Now in UTC, now as a clock in Kathmandu shows it. */
function endCells({ until }: OracleRule): readonly string[] {
  if (until === undefined) return []
  const there = new Date(until + 5.75 * 3_600_000).toISOString().replace('Z', '+05:45')
  return [`until=${until % 2 === 0 ? new Date(until).toISOString() : there}`]
}

/** RFC 4180 section 2: a cell with a comma or a quote stands in quotes. */
function quoted(cell: string): string {
  return /[",]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}

function relationText(relation: OracleRelation): unknown {
  if (!('equals' in relation)) return relation
  const { field, equals } = relation
  return equals === 'id' && !relation.fill ? field : { ...relation, equals: `subject.${equals}` }
}

function mapToObject<T>(map: ReadonlyMap<string, T>, text: (value: T) => unknown): Readonly<Record<string, unknown>> {
  return Object.fromEntries([...map].map(([name, value]) => [name, text(value)]))
}
