/** What a change means for the policy and its matrices: everything that names what is gone. */
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Diagnostic } from '../../../base/diagnostic.ts'
import type { Policy } from '../../../decide/policy.ts'
import { filledFields } from '../../../decide/relations/ownership.ts'
import { parsePolicy } from '../../../policy/parse/parse-policy.ts'
import { POLICY_FILES } from '../../../policy/policy-files.ts'
import type { FindingReport } from '../../../present/findings.ts'
import { type Phrase, say } from '../../../present/phrase.ts'
import type { Resources } from '../../../resources/resource.ts'
import { checkPolicy } from '../../check/check-policy.ts'
import { readFolder } from '../../diff/revision.ts'
import { orFaults, type PolicyPlace, readPlace } from '../../load-policy.ts'
import type { Expectation } from '../../matrix/read/expectation.ts'
import { findMatrixFiles, readMatrices } from '../../matrix/read/read-matrices.ts'
import type { Filled, Filling } from './compare-values.ts'
import type { SchemaChange } from './schema-change.ts'

interface BothResources {
  readonly before: Resources
  readonly after: Resources
}

/** A policy that belongs to the old schemas, where it isn't the one that belongs to the new ones. */
export interface OtherPolicy {
  /** A directory, or a git revision. */
  readonly name: string
  /** The folder of policies in a revision without a path. */
  readonly usual: string
}

/**
 * What `policy check` finds with the new schemas and not with the old ones. Of a policy that can't be read with the old
 * schemas, only errors are known to be new. Throws ToolError without a policy.
 */
export async function comparePolicyFindings(
  { policies, earlier }: { readonly policies: PolicyPlace; readonly earlier: OtherPolicy | undefined },
  { before, after }: BothResources,
  now: Date,
): Promise<readonly SchemaChange[]> {
  const check = async (place: PolicyPlace, resources: Resources) => ({
    report: await checkPolicy({ policies: place, resources, users: undefined, now }),
    isReadable: (await policyWith(place, resources)) !== undefined,
  })
  const old = await inEarlier(earlier, policies, (place) => check(place, before))
  const next = await check(policies, after)
  return newAmong(next.report, old.report)
    .filter(({ severity }) => severity === 'error' || old.isReadable)
    .map(policyChange)
}

function inEarlier<T>(
  earlier: OtherPolicy | undefined,
  policies: PolicyPlace,
  load: (place: PolicyPlace) => Promise<T>,
): Promise<T> {
  if (!earlier) return load(policies)
  const isFile = (file: string) => POLICY_FILES.includes(file)
  return readFolder(earlier.name, { of: 'policy', usual: earlier.usual, isFile, load })
}

/** Of equal findings, those beyond the old number are new. */
function newAmong(next: FindingReport, old: FindingReport): readonly Diagnostic[] {
  const [keyIn, oldKeyIn] = [keysOf(next), keysOf(old)]
  const known = new Map<string, number>()
  for (const key of old.findings.map(oldKeyIn)) known.set(key, (known.get(key) ?? 0) + 1)
  return next.findings.filter((finding) => {
    const key = keyIn(finding)
    const left = known.get(key) ?? 0
    known.set(key, left - 1)
    return left <= 0
  })
}

/** Lines move where others are added before them, so their text stands for their number, in messages too. */
function keysOf({ sources }: FindingReport): (finding: Diagnostic) => string {
  const lines = new Map([...sources].map(([name, text]) => [basename(name), text.split(/\r?\n/)]))
  const textAt = (file: string, line: number | string) => lines.get(file)?.[Number(line) - 1]?.trim() ?? ''
  return ({ file, line, code, message }) => {
    const own = basename(file)
    const said = message
      .replace(/\blines? \d+(?:(?:, | and )\d+)*/g, (named) => named.replace(/\d+/g, (number) => textAt(own, number)))
      .replace(PLACE, (_, name: string, number: string) => `${name} ${textAt(name, number)}`)
    return JSON.stringify([own, code, textAt(own, line), said])
  }
}

const PLACE = /([\w.-]+\.(?:csv|yaml|txt)):(\d+)(?::\d+)?/g

function policyChange({ file, line, column, severity, message, code: found }: Diagnostic): SchemaChange {
  const code = severity === 'error' ? 'policy-error' : 'policy-warning'
  // A sentence between names, as all messages have it; a message in another form counts as one name.
  const parts = message.split('`')
  const isPlain = parts.every((part, i) => i % 2 === 1 || /^[\p{L}\p{N} ,.:;'()/=-]*$/u.test(part))
  const sentence = isPlain
    ? parts.flatMap((part, i): Phrase => (i % 2 === 1 ? say`${part}` : words(part)))
    : say`${message}`
  const place = { file, line, column }
  const about = {
    resource: '',
    pointer: '',
    effect: 'breaking',
    sentence: [...sentence, ...words(` (${found})`)],
  } as const
  return { ...place, concern: 'policies', code, ...about }
}

function words(text: string): Phrase {
  return text === '' ? [] : [{ kind: 'words', text }]
}

/** Rows about a path or a method that is gone. No change if there is no such folder. */
export async function compareMatrices(
  folder: string,
  { before, after }: BothResources,
): Promise<readonly SchemaChange[]> {
  if ((await stat(folder).catch(() => undefined)) === undefined) return []
  const { matrices } = await findMatrixFiles([folder])
  const cells = await readMatrices(matrices)
  const gone = cells.filter((cell) => accepts(before, cell) && !accepts(after, cell))
  // The cells of one row are about the same path and methods.
  const rows = new Map(gone.map((cell) => [`${cell.place.file}:${cell.place.line}:${cell.method}`, cell]))
  return [...rows.values()].map(({ place, path, method }) => ({
    ...place,
    concern: 'policies',
    effect: 'breaking',
    code: 'matrix-outdated',
    resource: '',
    pointer: '',
    sentence: say`the row is about ${method} ${path}, which is gone`,
  }))
}

function accepts({ routes }: Resources, { path, method }: Expectation): boolean {
  return routes.some((route) => route.path === path && route.endpoints.has(method))
}

/** A policy that can't be read with one side's schemas counts as that of the other side. */
export async function fillingOf(policies: PolicyPlace, { before, after }: BothResources): Promise<Filling> {
  const [old, next] = [await policyWith(policies, before), await policyWith(policies, after)]
  return { before: filledBy(old ?? next), after: filledBy(next ?? old) }
}

function filledBy(policy: Policy | undefined): Filled {
  return (resource) => {
    const filled = filledFields(resource, policy?.ownership.get(resource.name))
    return new Set(filled.map(({ field }) => field.name))
  }
}

function policyWith(policies: PolicyPlace, resources: Resources): Promise<Policy | undefined> {
  return orFaults(
    async () => parsePolicy((await readPlace(policies)).files(), resources),
    () => undefined,
  )
}
