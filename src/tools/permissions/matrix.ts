/** Who can do what, as data: a cell for every caller, method, path and set of relations. All output formats use it. */

import { didYouMean } from '../../base/did-you-mean.ts'
import { type CallerColumn, callerWith } from '../../decide/callers-and-routes.ts'
import { type DirectPolicy, directPolicy } from '../../decide/grants/direct.ts'
import type { Policy } from '../../decide/policy.ts'
import { livingAt } from '../../decide/rules/rule-expiry.ts'
import { type Revision, revisionOf } from '../../policy/policy-files.ts'
import { loadResources } from '../../resources/load/load-resources.ts'
import type { Method, Resources } from '../../resources/resource.ts'
import { loadPolicy, ReviewError, type ReviewedPolicy } from '../load-policy.ts'
import { supposedConditions } from '../supposed-conditions.ts'
import { decideCell, type MatrixCell, type PolicyAt } from './cell.ts'
import { chooseColumns } from './columns.ts'
import { type ObjectKind, planRows, type RowPlan } from './rows.ts'

export interface Matrix {
  readonly revision: Revision
  /** The conditions of the request that are supposed to hold. */
  readonly conditions: readonly string[]
  readonly columns: readonly MatrixColumn[]
  /** By resource (built-in ones last), path, method and relation. */
  readonly rows: readonly MatrixRow[]
  /** The lines of policy.csv that decide a cell, in order. */
  readonly rules: readonly RuleText[]
}

export interface MatrixColumn extends CallerColumn {
  readonly description: string
}

export interface MatrixRow {
  readonly resource: string
  readonly path: string
  /** Methods of the same endpoint: GET and HEAD share a row. */
  readonly methods: readonly Method[]
  readonly action: string
  readonly object: ObjectKind
  /**
   * The relations of the caller to the object: names joined with `+` (these hold, and no other relation that a rule
   * names), `none` (no relation that a rule names holds), `any` (no rule names a relation), `-` (the request concerns
   * no object).
   */
  readonly relation: string
  /** For a transition: the relations of the result that right sides of rules name, or `none`. */
  readonly becomes?: string
  readonly view: string | undefined
  /** The fields that the row is about, sorted; none for an action without fields. */
  readonly fields: readonly string[]
  /** One a column, in their order. */
  readonly cells: readonly MatrixCell[]
}

interface RuleText {
  readonly line: number
  readonly effect: 'allow' | 'deny'
  /** As it stands in policy.csv. */
  readonly text: string
}

interface MatrixQuestion {
  readonly policies: string
  readonly schemas: string
  /** The callers to show; none for all. */
  readonly roles: readonly string[]
  /** The resources to show; none for all. */
  readonly only: readonly string[]
  /** The conditions of the request that hold: names joined with `+`, or `none`. */
  readonly holding: string
  /** Milliseconds since the epoch. */
  readonly now: number
}

/** Throws FileError and ReviewError. */
export async function readMatrix({ policies, schemas, roles, only, holding, now }: MatrixQuestion): Promise<Matrix> {
  const resources = await loadResources(schemas)
  const reviewed = await loadPolicy(policies, resources)
  return buildMatrix(reviewed, {
    resources,
    columns: chooseColumns(livingAt(reviewed.policy, now), roles),
    only: chosenResources(resources, only),
    holding: supposedToHold(reviewed.policy, holding),
    now,
  })
}

function supposedToHold({ conditions }: Policy, text: string): readonly string[] {
  const holds = supposedConditions(text, [...conditions.keys()])
  return [...holds].filter(([, one]) => one).map(([name]) => name)
}

function chosenResources({ byName }: Resources, asked: readonly string[]): ReadonlySet<string> | undefined {
  const unknown = asked.find((name) => !byName.has(name))
  if (unknown !== undefined) {
    throw new ReviewError(
      `no schema declares the resource \`${unknown}\`; --resource takes ` +
        `${[...byName.keys()].join(', ')}${didYouMean(unknown, byName.keys())}`,
    )
  }
  return asked.length > 0 ? new Set(asked) : undefined
}

export interface MatrixRequest {
  readonly resources: Resources
  readonly columns: readonly CallerColumn[]
  /** Names of resources; undefined for all. */
  readonly only: ReadonlySet<string> | undefined
  /** The conditions of the request that hold; the others don't. */
  readonly holding?: readonly string[]
  /** The time of the matrix, in milliseconds since the epoch: rules and blocks may end. */
  readonly now: number
}

/** Throws ReviewError if rules name too many relations for a matrix. */
export function buildMatrix(
  reviewed: ReviewedPolicy,
  { resources, columns, only, now, holding = [] }: MatrixRequest,
): Matrix {
  const { policy, blocked, files, blockedFile } = reviewed
  const callers = columns.map((column) => {
    return { caller: callerWith(policy, column.subjects), block: blocked.get(userOf(column) ?? '') }
  })
  const policies = new Map<number, DirectPolicy>()
  const policyAt: PolicyAt = (time = Number.NEGATIVE_INFINITY) => {
    const made = policies.get(time) ?? directPolicy(policy, resources, time)
    policies.set(time, made)
    return made
  }
  const rows = planRows(livingAt(policy, now), resources, only).map((plan) => ({
    ...describeRow(plan),
    cells: callers.map((caller) => decideCell(policyAt, plan, caller, { now, holding })),
  }))
  return {
    revision: revisionOf(files, blockedFile),
    conditions: holding,
    columns: columns.map((column) => ({ ...column, description: describeColumn(reviewed, column) })),
    rows,
    rules: textsOf(rows, files['policy.csv'].text),
  }
}

function describeRow(plan: RowPlan): Omit<MatrixRow, 'cells'> {
  const { resource, route, methods, action, object, relation, transition, fields } = plan
  return {
    resource: resource.name,
    path: route.path,
    methods,
    action: action.name,
    object,
    relation,
    ...(transition ? { becomes: transition.becomes } : {}),
    view: route.view,
    fields,
  }
}

function describeColumn({ policy }: ReviewedPolicy, column: CallerColumn): string {
  if (column.name === 'anonymous') return 'A caller without credentials.'
  if (column.name === 'everyone') return 'A caller with credentials and no role.'
  const role = policy.roles.get(column.name)
  if (role) return role.description
  return column.name.startsWith('user:') ? 'This one person, without any role.' : 'A caller who holds all of these.'
}

/** The user of a column, if it has one. */
function userOf({ subjects }: CallerColumn): string | undefined {
  return [...subjects].find((subject) => subject.startsWith('user:'))?.slice('user:'.length)
}

function textsOf(rows: readonly MatrixRow[], source: string): readonly RuleText[] {
  const lines = source.split(/\r?\n/)
  const deciding = new Map(rows.flatMap(({ cells }) => cells.flatMap(({ rules }) => rules)).map((r) => [r.line, r]))
  return [...deciding.values()]
    .toSorted((a, b) => a.line - b.line)
    .map(({ line, effect }) => ({ line, effect, text: (lines[line - 1] ?? '').trim() }))
}
