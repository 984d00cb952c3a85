/** approvals.yaml -> who may approve the next version. The file may be absent: then a publishing key is enough. */

import { approvals as compiled } from '#compiled/policy-files'
import { type Diagnostic, Faults, type SourceFile } from '../../base/diagnostic.ts'
import { oneOf } from '../../base/did-you-mean.ts'
import { readDuration } from '../../base/time.ts'
import { parseYaml, shapeBy } from '../../base/yaml-file.ts'
import type { ApprovalNeed, Approvals, PersonKey, TouchNeed } from '../../decide/policy.ts'
import { namesText } from '../../present/quote.ts'
import type { Resources } from '../../resources/resource.ts'
import { POLICY_FILES, type PolicyFiles } from '../policy-files.ts'
import type { OnFault } from './parse-callers.ts'
import { readPersonKey } from './person-key.ts'

interface ApprovalsFile {
  readonly people: Readonly<
    Record<string, { readonly keys: readonly string[]; readonly groups?: readonly string[]; readonly user?: string }>
  >
  readonly needs: {
    readonly widens: ApprovalNeed
    readonly narrows?: ApprovalNeed
    readonly blocks?: ApprovalNeed
    readonly touches?: readonly TouchNeed[]
  }
  readonly 'break-glass'?: {
    readonly from: readonly string[]
    readonly roles: readonly string[]
    readonly for: string
    readonly review: string
  }
  readonly requests?: { readonly roles: Readonly<Record<string, ApprovalNeed & { readonly for: string }>> }
}

const shape = shapeBy<ApprovalsFile>(compiled)

const ONE_PERSON: ApprovalNeed = { people: 1 }

interface ApprovalNames {
  readonly resources: Resources
  /** Those of roles.yaml; undefined where the other files aren't at hand. */
  readonly roles?: ReadonlyMap<string, unknown>
}

export function parseApprovals(
  source: SourceFile | undefined,
  { resources, roles }: ApprovalNames,
  report: (diagnostic: Diagnostic) => void,
): Approvals | undefined {
  const file = source && parseYaml(source, shape, report)
  if (!file) return undefined
  const fault: OnFault = (path, ...rest) => report(file.fault(path, ...rest))
  const { needs, requests } = file.value
  const glass = file.value['break-glass']
  const people = parsePeople(file.value.people, fault)
  const approvals: Approvals = {
    people,
    widens: needs.widens,
    narrows: needs.narrows ?? ONE_PERSON,
    blocks: needs.blocks ?? ONE_PERSON,
    touches: needs.touches ?? [],
    breakGlass: glass && { ...glass, forMs: durationOf(glass.for), reviewMs: durationOf(glass.review) },
    requests: new Map(
      Object.entries(requests?.roles ?? {}).map(([role, need]) => [role, { ...need, forMs: durationOf(need.for) }]),
    ),
  }
  const all = [
    ...(['widens', 'narrows', 'blocks'] as const).map((name) => [[name], approvals[name]] as const),
    ...approvals.touches.map((need, i) => [['touches', i], need] as const),
  ]
  for (const [path, need] of all) {
    refuseUnmet(need, people, (rest, ...what) => fault(['needs', ...path, ...rest], ...what))
  }
  for (const [i, need] of approvals.touches.entries()) {
    refuseTouch(need, resources, (rest, ...what) => fault(['needs', 'touches', i, ...rest], ...what))
  }
  refuseGlass(approvals, roles, (rest, ...what) => fault(['break-glass', ...rest], ...what))
  for (const [role, need] of approvals.requests) {
    const at: OnFault = (rest, ...what) => fault(['requests', 'roles', role, ...rest], ...what)
    refuseUnmet(need, people, at)
    refuseRole(role, roles, (...what) => at([], ...what))
  }
  return approvals
}

function durationOf(text: string): number {
  return readDuration(text) ?? 0
}

function refuseGlass({ breakGlass, people }: Approvals, roles: ApprovalNames['roles'], fault: OnFault): void {
  if (!breakGlass) return
  refuseUnmet({ ...breakGlass, people: 0 }, people, fault)
  if (people.size < 2) {
    fault(['review'], 'approvals-unmet', 'somebody else must review it, and there is nobody else', 'add people')
  }
  for (const [i, role] of breakGlass.roles.entries()) {
    refuseRole(role, roles, (...what) => fault(['roles', i], ...what))
  }
}

function refuseRole(
  role: string,
  roles: ApprovalNames['roles'],
  fault: (code: string, message: string, hint: string) => void,
): void {
  if (!roles || roles.has(role)) return
  fault('unknown-role', `roles.yaml declares no role \`${role}\``, oneOf(role, roles.keys()))
}

/** The approvals of a policy without its other files. Throws FileError. */
export function approvalsOf(files: PolicyFiles, resources: Resources): Approvals | undefined {
  const faults = new Faults()
  const approvals = parseApprovals(files['approvals.yaml'], { resources }, faults.report)
  faults.throwAny()
  return approvals
}

/** One key stands for one person: else one person could approve twice. */
function parsePeople(people: ApprovalsFile['people'], fault: OnFault): Approvals['people'] {
  const owners = new Map<string, string>()
  return new Map(
    Object.entries(people).map(([name, { keys, groups = [], user }]) => {
      const read = keys.flatMap((text, i): readonly PersonKey[] => {
        const key = readPersonKey(text)
        const path = ['people', name, 'keys', i]
        if ('fault' in key) {
          fault(path, 'approvals-key', `the key is ${key.fault}`, key.hint)
          return []
        }
        const owner = owners.get(key.kid)
        if (owner === name) fault(path, 'approvals-key', 'the key is written twice', 'keep one of them')
        else if (owner !== undefined) {
          fault(path, 'approvals-key', `the key is also that of \`${owner}\``, 'give each person a key of their own')
        }
        owners.set(key.kid, name)
        return [key]
      })
      return [name, { keys: read, groups, ...(user !== undefined && { user }) }]
    }),
  )
}

/** A need that nobody can meet would refuse each later version. */
function refuseUnmet(need: ApprovalNeed, people: Approvals['people'], fault: OnFault): void {
  const groups = new Set([...people.values()].flatMap((one) => one.groups))
  const { people: count, from = [] } = need
  const unknown = from.filter((name) => !groups.has(name))
  for (const name of unknown) {
    const message = `nobody in \`people\` is in the group \`${name}\``
    fault(['from', from.indexOf(name)], 'unknown-group', message, oneOf(name, groups))
  }
  if (unknown.length > 0 || [...people.keys()].some((author) => canMeet(need, people, author))) return
  const able = approversFor(need, people).length
  const who = from.length > 0 ? `in ${namesText(from, ' or ')}` : 'in `people`'
  const message = `${count === 1 ? '1 person' : `${count} people`} must approve beside the author, and only ${able} ${able === 1 ? 'is' : 'are'} ${who}`
  fault(['people'], 'approvals-unmet', message, 'lower the number, or add people')
}

/** The names of those who may approve for the need. */
export function approversFor({ from }: ApprovalNeed, people: Approvals['people']): readonly string[] {
  return [...people]
    .filter(([, { groups }]) => !from || groups.some((name) => from.includes(name)))
    .map(([name]) => name)
}

/** The id of the person as a caller. */
export function callerOfPerson(people: Approvals['people'], name: string): string {
  return people.get(name)?.user ?? name
}

/** Whether enough others may approve what this person proposes. */
export function canMeet(need: ApprovalNeed, people: Approvals['people'], author: string): boolean {
  return approversFor(need, people).filter((name) => name !== author).length >= need.people
}

function refuseTouch({ resource, file }: TouchNeed, resources: Resources, fault: OnFault): void {
  if ((resource === undefined) === (file === undefined)) {
    fault([], 'approvals-touch', 'the need is about either a `resource` or a `file`', 'write one of the two')
    return
  }
  if (resource !== undefined && !resources.byName.has(resource)) {
    const message = `no schema declares the resource \`${resource}\``
    fault(['resource'], 'unknown-resource', message, oneOf(resource, resources.byName.keys()))
  }
  for (const [i, name] of (file ?? []).entries()) {
    if (POLICY_FILES.includes(name)) continue
    fault(['file', i], 'approvals-touch', `\`${name}\` is no file of a policy`, oneOf(name, POLICY_FILES))
  }
}
