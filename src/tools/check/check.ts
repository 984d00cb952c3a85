/** The form of a check, and its input: files without errors, and the places of their parts. */

import { ActionRulesIndex } from '../../analysis/rule-index.ts'
import type { Diagnostic, Place, SourceFile } from '../../base/diagnostic.ts'
import { parseYaml, type Shape } from '../../base/yaml-file.ts'
import type { Policy, Rule } from '../../decide/policy.ts'
import { livingAt } from '../../decide/rules/rule-table.ts'
import type { readBlocks } from '../../policy/parse/parse-blocked.ts'
import { ruleLinesOf } from '../../policy/parse/rule-lines.ts'
import type { PolicyFiles, RequiredFileName } from '../../policy/policy-files.ts'
import type { Resources } from '../../resources/resource.ts'

/** A check: the codes of its findings, which docs/checks.md explains, and the findings. */
export interface PolicyCheck<Subject = CheckedPolicy> {
  readonly codes: readonly string[]
  readonly find: (subject: Subject) => readonly Diagnostic[]
}

/** What a check found, and where. */
export interface FoundAt extends Pick<Required<Diagnostic>, 'message' | 'hint'> {
  readonly at: Place
}

/** A check whose findings have one code. */
export function check<Subject = CheckedPolicy>({
  code,
  find,
}: {
  readonly code: string
  readonly find: (subject: Subject) => readonly FoundAt[]
}): PolicyCheck<Subject> {
  return {
    codes: [code],
    find: (subject) => find(subject).map(({ at, message, hint }) => warning(at, code, message, hint)),
  }
}

/** A check that looks at each rule alone: `judge` finds at most one fault, at one cell of the rule's line. */
export function ruleCheck({
  code,
  cell,
  judge,
}: {
  readonly code: string
  readonly cell: number
  readonly judge: (rule: Rule, checked: CheckedPolicy) => Omit<FoundAt, 'at'> | undefined
}): PolicyCheck {
  return check({
    code,
    find: (checked) =>
      checked.policy.rules.flatMap((rule) => {
        const found = judge(rule, checked)
        return found ? [{ ...found, at: checked.placeOfLine(rule.line, cell) }] : []
      }),
  })
}

type YamlName =
  | Exclude<RequiredFileName, 'model.conf' | 'policy.csv'>
  | 'conditions.yaml'
  | 'callers.yaml'
  | 'approvals.yaml'
  | 'subscriptions.yaml'

export interface CheckedPolicy {
  /** The rules that haven't ended at `now`. */
  readonly policy: Policy
  /** Every rule, also those that have ended. */
  readonly written: Policy
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly resources: Resources
  readonly files: PolicyFiles
  readonly index: ActionRulesIndex
  /** The ids that the directory knows; undefined without a directory. */
  readonly directory: ReadonlySet<string> | undefined
  /** The place of a cell in a line of policy.csv; without a cell, the line's beginning. */
  placeOfLine(line: number, cell?: number): Place
  /** The place of a key in a YAML file. */
  placeOfKey(file: YamlName, path: readonly string[]): Place
}

export interface CheckedBlocked {
  readonly file: SourceFile
  readonly blocks: ReturnType<typeof readBlocks>
  readonly directory: ReadonlySet<string> | undefined
  /** Milliseconds since the epoch. */
  readonly now: number
}

export type PolicyParts = Pick<CheckedPolicy, 'written' | 'now' | 'resources' | 'files' | 'directory'>

/** `undecided`: resources whose rules tell too many situations apart. Throws TooManyRegions for another such resource. */
export function checkedPolicy(parts: PolicyParts, undecided?: ReadonlySet<string>): CheckedPolicy {
  const { written, now, resources, files } = parts
  const policy = livingAt(written, now)
  const lines = ruleLinesOf(files['policy.csv'])
  const keys = new Map<YamlName, (path: readonly string[]) => Place>()
  return {
    ...parts,
    policy,
    index: new ActionRulesIndex(policy, resources, undecided),
    placeOfLine: (line, cell = 0) =>
      lines.get(line)?.placeOf(cell) ?? { file: files['policy.csv'].name, line, column: 1 },
    placeOfKey(file, path) {
      return keys.getOrInsertComputed(file, () => placesOfKeys(files[file] ?? { name: file, text: '' }))(path)
    },
  }
}

const anything: Shape<unknown> = (value) => ({ value })

function placesOfKeys(source: SourceFile): (path: readonly string[]) => Place {
  const file = parseYaml(source, anything, ignore)
  return (path) => file?.fault(path, '', '') ?? { file: source.name, line: 1, column: 1 }
}

/** Ignores faults: the files have none. */
function ignore(): void {}

export function warning(place: Place, code: string, message: string, hint: string): Diagnostic {
  const { file, line, column } = place
  return { file, line, column, code, severity: 'warning', message, hint }
}

/** `line 4`, `lines 4 and 9`, `lines 4, 9, 12 and 3 more`. */
export function linesText(lines: readonly number[]): string {
  const sorted = [...new Set(lines)].sort((a, b) => a - b)
  const [first, ...rest] = sorted
  if (rest.length === 0) return `line ${first}`
  const shown = sorted.slice(0, 3)
  if (sorted.length > 3) return `lines ${shown.join(', ')} and ${sorted.length - 3} more`
  return `lines ${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`
}
