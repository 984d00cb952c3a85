/** Parses the files of a policy directory into a policy. Strict: reports all faults at once, each with its place. */

import type { SourceFile } from '../../base/diagnostic.ts'
import { type FaultReporter, Faults } from '../../base/diagnostic.ts'
import { MODEL } from '../../decide/casbin/model.ts'
import type { Policy } from '../../decide/policy.ts'
import type { Resources } from '../../resources/resource.ts'
import type { PolicyFiles } from '../policy-files.ts'
import { parseApprovals } from './parse-approvals.ts'
import { parseCallers } from './parse-callers.ts'
import { parseConditions } from './parse-conditions.ts'
import { parseGuarantees, refuseHeirs } from './parse-guarantees.ts'
import { parseLimits } from './parse-limits.ts'
import { parseMasks } from './parse-masks.ts'
import { parseOwnership } from './parse-ownership.ts'
import { parseRules } from './parse-rules.ts'
import { parseSubscriptions } from './parse-subscriptions.ts'
import { parseRoles, parseViews } from './parse-vocabulary.ts'

/** Throws FileError. */
export function parsePolicy(files: PolicyFiles, resources: Resources): Policy {
  const faults = new Faults()
  const report = withoutConsequences(files, faults.report)
  checkModel(files['model.conf'], report)
  const roles = parseRoles(files['roles.yaml'], report)
  const ownership = parseOwnership(files['ownership.yaml'], resources, report)
  const conditions = parseConditions(files['conditions.yaml'], ownership, report)
  const views = parseViews(files['views.yaml'], resources, report)
  const limits = parseLimits(files['limits.yaml'], { roles, resources }, report)
  const masks = parseMasks(files['masks.yaml'], { resources, ownership }, report)
  const names = { resources, roles, ownership, views, conditions: new Set(conditions.keys()) }
  const { rules, links } = parseRules(files['policy.csv'], names, report)
  const callers = parseCallers(files['callers.yaml'], { resources, roles, conditions }, report)
  const said = parseGuarantees(files['guarantees.yaml'], names, report)
  refuseHeirs({ roles, links, ...said }, files['policy.csv'], report)
  const approvals = parseApprovals(files['approvals.yaml'], { resources, roles }, report)
  const subscriptions = parseSubscriptions(files['subscriptions.yaml'], resources, report)
  faults.throwAny()
  return {
    roles,
    rules,
    links,
    ownership,
    conditions,
    views,
    limits,
    masks,
    callers,
    ...said,
    approvals,
    subscriptions,
  }
}

/**
 * If a file that declares names has a fault, names in other files may only seem unknown. It must be read before them.
 */
function withoutConsequences(files: PolicyFiles, report: FaultReporter): FaultReporter {
  const declaring: Readonly<Record<string, readonly (string | undefined)[]>> = {
    'unknown-role': [files['roles.yaml'].name],
    'unknown-relation': [files['ownership.yaml'].name, files['conditions.yaml']?.name],
    'unknown-view': [files['views.yaml'].name],
    'unknown-condition': [files['conditions.yaml']?.name],
  }
  const faulty = new Set<string>()
  return (fault) => {
    const sources = declaring[fault.code] ?? []
    if (sources.some((source) => source !== undefined && source !== fault.file && faulty.has(source))) return
    faulty.add(fault.file)
    report(fault)
  }
}

/** Comments and spacing may differ, the model itself may not: index, filters and cells rely on it. */
function checkModel({ name, text }: SourceFile, report: FaultReporter): void {
  const expected = statements(MODEL)
  const lines = text.split(/\r?\n/)
  const found = lines.flatMap((line, index) => statements(line).map((statement) => ({ statement, line: index + 1 })))
  const wrong = Array.from({ length: Math.max(expected.length, found.length) }, (_, i) => i).find(
    (i) => found[i]?.statement !== expected[i],
  )
  if (wrong === undefined) return
  const place = { file: name, line: found[wrong]?.line ?? lines.length, column: 1 }
  const message = `the model differs from the shipped one: \`${expected[wrong] ?? 'nothing'}\` belongs here`
  report({
    ...place,
    code: 'model-changed',
    severity: 'error',
    message,
    hint: 'restore the shipped model.conf; rules go into policy.csv',
  })
}

function statements(text: string): readonly string[] {
  return text
    .split('\n')
    .map((line) => (line.trimStart().startsWith('#') ? '' : line.replaceAll(/\s+/g, ' ').trim()))
    .filter((line) => line !== '')
}
