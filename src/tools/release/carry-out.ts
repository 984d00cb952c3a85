/** Carries out a plan: shows what it changes, asks for confirmation, and puts the policy in force. */

import { createInterface } from 'node:readline/promises'
import { commandProcess } from '../../base/command-process.ts'
import { print, printReport } from '../../present/print.ts'
import { CHECK_FORMATS } from '../check/check-policy.ts'
import { DIFF_FORMATS } from '../diff/formats.ts'
import { ToolError } from '../load-policy.ts'
import type { VersionChange } from './folder/put-in-force.ts'
import type { PlannedFiles, ReleasePlan } from './plan.ts'
import type { ReleaseTarget } from './target.ts'
import { type PolicyVersion, versionJson } from './version.ts'

export interface CarryOut extends Omit<VersionChange, 'content' | 'over'> {
  readonly format: 'text' | 'json'
  readonly yes: boolean
  readonly dryRun: boolean
}

/** `outcome` as in the JSON output. */
interface ReleaseResult {
  readonly outcome: 'applied' | 'unchanged' | 'refused' | 'dry-run' | 'declined'
  readonly version: PolicyVersion | undefined
}

/**
 * The exit code: 1 if the files have errors, or the user said no. Throws ToolError if there is no terminal to ask on.
 */
export async function carryOutRelease(plan: ReleasePlan, how: CarryOut): Promise<0 | 1> {
  const report = how.format === 'text' ? (text: string) => printReport('text', text) : () => true
  report(describePlan(plan))
  const result = await decide(plan, how)
  if (how.format === 'json') print(toJson(plan, result))
  else report(`${conclusion(plan, result)}\n`)
  return result.outcome === 'refused' || result.outcome === 'declined' ? 1 : 0
}

async function decide(plan: ReleasePlan, how: CarryOut): Promise<ReleaseResult> {
  const { check, sameRules, target, content, blocks, over } = plan
  const not = (outcome: ReleaseResult['outcome']): ReleaseResult => ({ outcome, version: undefined })
  if (check.errors > 0) return not('refused')
  if (sameRules && blocks.length === 0) return not('unchanged')
  if (how.dryRun) return not('dry-run')
  if (!how.yes && !(await agrees())) return not('declined')
  return { outcome: 'applied', version: await target.put({ ...how, content, over, blocks, sameRules }) }
}

async function agrees(): Promise<boolean> {
  if (!commandProcess().stdin.isTTY)
    throw new ToolError('there is no terminal to ask for confirmation: give --yes, or --dry-run to change nothing')
  const terminal = createInterface({ input: commandProcess().stdin, output: commandProcess().stderr })
  try {
    const answer = await terminal.question('Put this in force? [y/N] ')
    return /^y(es)?$/i.test(answer.trim())
  } finally {
    terminal.close()
  }
}

interface DescribedPlan extends PlannedFiles {
  readonly target: Pick<ReleaseTarget, 'name' | 'isEmpty'>
}

/** The findings, and what would change. */
export function describePlan({ check, diff, blocks, target, sameRules }: DescribedPlan): string {
  const found = check.findings.length === 0 ? '' : `${CHECK_FORMATS.text(check)}\n`
  if (check.errors > 0) return found
  const incomparable = target.isEmpty
    ? `There is no version in ${target.name} yet.\n`
    : `The files of ${target.name} have errors, so the changes can't be shown.\n`
  const meaning = diff ? DIFF_FORMATS.text(diff) : incomparable
  const added =
    blocks.length === 0
      ? ''
      : `\nThese blocks are added; a rollback doesn't remove them:\n${blocks.map((line) => `  ${line}\n`).join('')}`
  return `${found}${sameRules ? '' : meaning}${added}${sameRules && added === '' ? '' : '\n'}`
}

function conclusion({ target: { name, done } }: ReleasePlan, { outcome, version }: ReleaseResult): string {
  switch (outcome) {
    case 'refused':
      return `Nothing was changed in ${name}.`
    case 'unchanged':
      return `Nothing to change: ${name} has these files already.`
    case 'dry-run':
      return 'Nothing was changed. Run the command without --dry-run to put this in force.'
    case 'declined':
      return `Nothing was changed.`
    case 'applied':
      if (!version) return `The blocks are in force in ${name}; the rules did not change.`
      return `Version ${version.number}, revision ${version.revision}, is ${done} in ${name}.`
  }
}

function toJson({ check, diff, blocks }: ReleasePlan, { outcome, version }: ReleaseResult): string {
  const output = {
    outcome,
    version: version ? versionJson(version) : null,
    findings: check.findings,
    more: check.more,
    diff: diff ? JSON.parse(DIFF_FORMATS.json(diff)) : null,
    blocks,
  }
  return `${JSON.stringify(output, undefined, 2)}\n`
}
