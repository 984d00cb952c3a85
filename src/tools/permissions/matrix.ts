/** Who can do what, as data: a cell for every caller, method, path and set of relations. All output formats use it. */

import { type GuaranteeAnswer, Prover } from '../../analysis/guarantees/prove.ts'
import { byText } from '../../base/by-text.ts'
import { didYouMean } from '../../base/did-you-mean.ts'
import type { RoleGrants } from '../../decide/caller.ts'
import { type CallerColumn, callerColumns, callerWith, columnOfRoles } from '../../decide/callers-and-routes.ts'
import { type DirectPolicy, directPolicy } from '../../decide/grants/direct.ts'
import type { Guarantee, GuaranteedAct, Policy } from '../../decide/policy.ts'
import { livingAt } from '../../decide/rules/rule-table.ts'
import { isClaimableRole } from '../../identity/caller.ts'
import { type Revision, revisionOf } from '../../policy/policy-files.ts'
import { quote } from '../../present/quote.ts'
import { loadResources } from '../../resources/load/load-resources.ts'
import type { Resources } from '../../resources/resource.ts'
import { type AccessDirectory, type ReportedGrant, reportedGrants, withGrantedRoles } from '../access/granted-roles.ts'
import { assumedConditions, assumedNames } from '../asked/assumed-names.ts'
import { subjectIn } from '../asked/subject-in.ts'
import { type LoadedPolicy, loadPolicy, type PolicyPlace, ToolError } from '../load-policy.ts'
import { decideCell, type PolicyAt } from './cell.ts'
import { describeRow, type MatrixRow, mergeRows } from './merge-rows.ts'
import { planRows, type Shown } from './rows.ts'
import { termsText } from './words.ts'

export interface Matrix {
  readonly revision: Revision
  /** The conditions of the request that are assumed to hold. */
  readonly conditions: readonly string[]
  readonly columns: readonly PermissionColumn[]
  /** By resource (built-in ones last), path, method and relation. */
  readonly rows: readonly MatrixRow[]
  /** The lines of policy.csv that decide a cell, in order. */
  readonly rules: readonly RuleText[]
  /** The time of the matrix, in milliseconds since the epoch. */
  readonly at: number
  readonly reviewed: Pick<LoadedPolicy, 'policy' | 'blocked'>
  /** What the policy must keep, and whether it is proven to. */
  readonly guarantees: readonly KeptGuarantee[]
  /** Who holds roles; undefined if the directory was not read. */
  readonly people?: readonly Holder[] | undefined
  /** Whose column it shows; undefined if nobody was asked about. */
  readonly subject?: MatrixSubject | undefined
}

/** A caller as the directory knows it. */
export interface MatrixSubject {
  /** `user:<id>` */
  readonly subject: string
  /** Those for a time included. */
  readonly roles: readonly string[]
  readonly grants: readonly ReportedGrant[]
}

interface KeptGuarantee {
  readonly name: string
  readonly status: GuaranteeAnswer['kind']
  /** The cells that it is about; two for acts that it keeps apart. */
  readonly about: readonly GuaranteedCells[]
}

interface GuaranteedCells {
  readonly kind: Guarantee['kind']
  /** Names of columns. */
  readonly callers: readonly string[]
  readonly resource: string
  readonly actions: readonly string[]
  /** Absent: some field. */
  readonly fields?: readonly string[]
  /** What `unless` or `when` says; absent where it says nothing. */
  readonly terms?: string
}

/** A person or a machine that holds roles, as the directory says. */
export interface Holder {
  /** What people know it by; the id if it has no name. */
  readonly name: string
  readonly id: string
  readonly roles: readonly string[]
  /** Why it has some of them until a time. */
  readonly grants: readonly ReportedGrant[]
  /** Its credentials are refused. */
  readonly disabled: boolean
}

export interface PermissionColumn extends CallerColumn {
  readonly description: string
}

interface RuleText {
  readonly line: number
  readonly effect: 'allow' | 'deny'
  /** As it stands in policy.csv. */
  readonly text: string
}

interface MatrixQuestion {
  readonly policies: PolicyPlace
  readonly schemas: string
  /** The callers to show; none for all. */
  readonly roles: readonly string[]
  /** The resources to show; none for all. */
  readonly only: readonly string[]
  /** Only objects for which exactly these relations hold: names joined with `+`, or `none`. */
  readonly relation?: string | undefined
  /** The conditions of the request that hold: names joined with `+`, or `none`. */
  readonly holding: string
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly people?: readonly Holder[] | undefined
  readonly subject?: MatrixSubject | undefined
}

/** Throws FileError and ToolError. */
export async function readMatrix(question: MatrixQuestion): Promise<Matrix> {
  const { policies, schemas, holding, now, subject } = question
  const resources = await loadResources(schemas)
  const reviewed = await loadPolicy(policies, resources)
  const only = chosenResources(resources, question.only)
  const matrix = buildMatrix(reviewed, {
    resources,
    columns: columnsAsked(question, livingAt(reviewed.policy, now)),
    only,
    relations: chosenRelations(reviewed.policy, only, question.relation),
    holding: assumedToHold(reviewed.policy, holding),
    now,
  })
  return { ...matrix, people: question.people, ...(subject && { subject }) }
}

/** A role that the policy doesn't declare grants nothing. */
function columnsAsked({ roles, subject }: MatrixQuestion, policy: Policy): readonly CallerColumn[] {
  if (!subject) return chooseColumns(policy, roles)
  const name = [...subject.roles.filter((role) => policy.roles.has(role)), subject.subject].join('+')
  const asked = [...roles, name]
  return chooseColumns(policy, asked).filter((one) => asked.includes(one.name))
}

function assumedToHold({ conditions }: Policy, text: string): readonly string[] {
  const holds = assumedConditions(text, [...conditions.keys()])
  return [...holds].filter(([, one]) => one).map(([name]) => name)
}

function chosenResources({ byName }: Resources, asked: readonly string[]): ReadonlySet<string> | undefined {
  const unknown = asked.find((name) => !byName.has(name))
  if (unknown !== undefined) {
    throw new ToolError(
      `no schema declares the resource \`${unknown}\`; --resource takes ` +
        `${[...byName.keys()].join(', ')}${didYouMean(unknown, byName.keys())}`,
    )
  }
  return asked.length > 0 ? new Set(asked) : undefined
}

function chosenRelations(
  { ownership }: Policy,
  only: ReadonlySet<string> | undefined,
  text: string | undefined,
): ReadonlySet<string> | undefined {
  if (text === undefined) return undefined
  const shown = [...ownership].filter(([resource]) => only?.has(resource) ?? true)
  const declared = [...new Set(shown.flatMap(([, { relations }]) => [...relations.keys()]))]
  const faultOf = (unknown: string) => {
    const fault = `ownership.yaml declares no relation ${quote(unknown)} for a resource of this matrix`
    return `${fault}: --relation takes none, or names joined with + of ${declared.join(', ')}`
  }
  return new Set(assumedNames(text, { flag: '--relation', declared, faultOf }))
}

interface MatrixRequest extends Partial<Shown> {
  readonly resources: Resources
  readonly columns: readonly CallerColumn[]
  /** The conditions of the request that hold; the others don't. */
  readonly holding?: readonly string[]
  /** The time of the matrix, in milliseconds since the epoch: rules and blocks may end. */
  readonly now: number
  /** A matrix of more is refused. */
  readonly mostCells?: number
}

/** Throws ToolError if rules name too many relations for a matrix. */
export function buildMatrix(reviewed: LoadedPolicy, request: MatrixRequest): Matrix {
  const { policy, blocked, files, blockedFile } = reviewed
  const { resources, columns, now, holding = [] } = request
  const rows = decideRows(reviewed, request)
  return {
    revision: revisionOf(files, blockedFile),
    conditions: holding,
    columns: columns.map((column) => ({ ...column, description: describeColumn(reviewed, column) })),
    rows,
    rules: textsOf(rows, files['policy.csv'].text),
    at: now,
    reviewed: { policy, blocked },
    guarantees: guaranteesOf(policy, columns, new Prover(policy, resources, now)),
  }
}

/** Throws ToolError if rules name too many relations for a matrix, and for one of too many cells. */
export function decideRows(
  { policy, blocked }: Pick<LoadedPolicy, 'policy' | 'blocked'>,
  { resources, columns, only, relations, now, holding = [], mostCells = MOST_CELLS }: MatrixRequest,
): readonly MatrixRow[] {
  const callers = columns.map((column) => {
    return { caller: callerWith(policy, column.subjects), block: blocked.get(userOf(column) ?? '') }
  })
  const policies = new Map<number, DirectPolicy>()
  const policyAt: PolicyAt = (time = Number.NEGATIVE_INFINITY) =>
    policies.getOrInsertComputed(time, () => directPolicy(policy, resources, time))
  const plans = planRows(livingAt(policy, now), resources, { only, relations })
  refuseTooMany(callers.length, plans.length, mostCells)
  const planned = plans.map((plan) => {
    const cells = callers.map((caller) => decideCell(policyAt, plan, caller, { now, holding }))
    return { plan, row: { ...describeRow(plan), cells } }
  })
  const byMethod = Map.groupBy(planned, ({ plan: { route, endpoint } }) => `${route.path} ${endpoint.operation}`)
  return [...byMethod.values()].flatMap(mergeRows)
}

/** More take more memory than a process has: some kilobytes each, in all forms of the output. */
const MOST_CELLS = 1_000_000

function refuseTooMany(callers: number, rows: number, mostCells: number): void {
  const cells = callers * rows
  if (cells <= mostCells) return
  const [shown, most] = [cells, mostCells].map((number) => number.toLocaleString('en-US'))
  throw new ToolError(
    `the matrix of ${callers} callers has ${shown} cells, and at most ${most} are shown; ` +
      'name some callers with --role, or some resources with --resource',
  )
}

function guaranteesOf(
  { guarantees }: Policy,
  columns: readonly CallerColumn[],
  prover: Prover,
): readonly KeptGuarantee[] {
  return guarantees.map((one) => {
    const acts = one.kind === 'apart' ? one.acts : [one]
    const about = acts.map((act) => guaranteedCells(one.kind, act, columns))
    return { name: one.name, status: prover.answer(one).kind, about }
  })
}

function guaranteedCells(
  kind: Guarantee['kind'],
  { subjects, resource, actions, fields, terms }: GuaranteedAct,
  columns: readonly CallerColumn[],
): GuaranteedCells {
  const isMeant = (column: CallerColumn) =>
    'with' in subjects
      ? subjects.with.some((name) => column.subjects.has(name))
      : !subjects.without.some((name) => column.subjects.has(name))
  const callers = columns.filter(isMeant).map(({ name }) => name)
  return { kind, callers, resource, actions, ...(fields && { fields }), ...(terms && { terms: termsText(terms) }) }
}

function describeColumn({ policy }: LoadedPolicy, column: CallerColumn): string {
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

/** `named`: `user:<id>`. Throws ToolError, also for somebody who can't do anything. */
export async function subjectNamed(
  named: string,
  directory: AccessDirectory,
  grants: RoleGrants,
  now: number,
): Promise<MatrixSubject> {
  const id = subjectIn(named)
  const { roles = [], disabled, deleted } = await withGrantedRoles(directory, grants, now).accountStatus(id)
  if (disabled || deleted) {
    throw new ToolError(`${named} is ${disabled ? 'disabled' : 'deleted'}, and nothing is allowed to it`)
  }
  return { subject: named, roles: roles.filter(isClaimableRole), grants: reportedGrants(grants, id, now) }
}

// ---- Which callers a matrix is about: all that rules can tell apart, or those that were asked for.

/**
 * Without names: anonymous, everyone, each role in the order of roles.yaml, each user that a rule names. Single names
 * select only these callers; names joined with `+` add a caller who holds all of them. Throws ToolError.
 */
export function chooseColumns(policy: Policy, asked: readonly string[]): readonly CallerColumn[] {
  const all = callerColumns(policy)
  const known = [
    ...all.filter(({ name }) => !isUser(name)),
    ...all.filter(({ name }) => isUser(name)).sort((a, b) => byText(a.name, b.name)),
  ]
  const columns = [...new Set(asked)].map((name) => ({
    single: partsOf(name).length === 1,
    column: column(policy, name),
  }))
  const single = columns.filter((one) => one.single).map((one) => one.column)
  const combined = columns.filter((one) => !one.single).map((one) => one.column)
  return [...(single.length > 0 ? single : known), ...combined]
}

/** `a+b+user:<id>`: an id may hold a `+` itself, so it comes last. */
function partsOf(name: string): readonly string[] {
  const user = /(?<=^|\+)user:.*$/s.exec(name)?.[0]
  if (user === undefined) return name.split('+')
  const roles = name.slice(0, -user.length).split('+').slice(0, -1)
  return [...roles, user]
}

function column(policy: Policy, name: string): CallerColumn {
  const parts = partsOf(name)
  const special = parts.length === 1 ? callerColumns(policy).find((one) => one.name === name) : undefined
  if (special) return special
  const user = parts.find(isUser)
  const roles = parts.filter((part) => part !== user)
  for (const role of roles) requireRole(policy, role)
  if (user !== undefined) requireId(user)
  const { subjects } = columnOfRoles(policy, roles)
  return { name: parts.join('+'), subjects: new Set([...subjects, ...(user === undefined ? [] : [user])]) }
}

function requireRole({ roles }: Policy, role: string): void {
  if (roles.has(role)) return
  const known = ['anonymous', 'everyone', ...roles.keys(), 'user:<id>'].join(', ')
  throw new ToolError(
    `\`${role}\` is not a role of roles.yaml; --role takes ${known}, or roles joined with +` +
      didYouMean(role, ['anonymous', 'everyone', ...roles.keys()]),
  )
}

/** Accepts the ids that policy.csv accepts. */
function requireId(user: string): void {
  const id = user.slice('user:'.length)
  if (id !== '' && id === id.trim() && [...id].length <= 128 && !/\p{Cc}/u.test(id)) return
  throw new ToolError('a user id has 1 to 128 characters and no space at its ends: write --role user:<id>')
}

function isUser(name: string): boolean {
  return name.startsWith('user:')
}
