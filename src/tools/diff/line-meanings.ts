/** What each changed line means: the sentences of `policy diff` from the policy without this one change to the policy. */
import { changeSentence, type Direction, directionOf, type PolicyDifference } from '../../analysis/diff/change.ts'
import { Incomparable } from '../../analysis/diff/compare-decisions.ts'
import { comparePolicies } from '../../analysis/diff/compare-policies.ts'
import { FileError, type SourceFile } from '../../base/diagnostic.ts'
import { parseBlocked } from '../../policy/parse/parse-blocked.ts'
import { parsePolicy } from '../../policy/parse/parse-policy.ts'
import type { PolicyFiles } from '../../policy/policy-files.ts'
import { plainText } from '../../present/phrase.ts'
import type { Resources } from '../../resources/resource.ts'
import type { LoadedPolicy } from '../load-policy.ts'
import { type ChangedLines, changedParts, eachLine, takenBack } from './changed-lines.ts'

/** Further changed lines are left to the comparison of the whole. */
const MOST_LINES = 20

const BLOCKED = 'blocked.txt'

/** The files of a policy as they are now. */
export interface FilesNow {
  readonly files: PolicyFiles
  readonly blocked: SourceFile
  readonly resources: Resources
  /** Milliseconds since the epoch. */
  readonly now: number
}

export interface LineMeaning {
  readonly part: ChangedLines
  /** A sentence each: `widens: member gains read on orders (owner)`. */
  readonly says: readonly string[]
}

/**
 * Of one file, lazily: each takes a parse and a comparison. None while the policy has errors, and of comments and empty
 * lines. `before`: the earlier text.
 */
export function* lineMeanings(
  present: FilesNow,
  file: string,
  before: string,
  isWanted: (part: ChangedLines) => boolean = () => true,
): Generator<LineMeaning> {
  const { text } = file === BLOCKED ? present.blocked : fileNamed(present.files, file)
  const isTable = file === 'policy.csv' || file === BLOCKED
  const parts = changedParts(before, text) ?? []
  const seen = (isTable ? parts.flatMap(eachLine) : parts).filter((part) => isWanted(part) && saysSomething(part))
  const judged = seen.length === 0 ? undefined : policyWith(present, file, text)
  if (!judged) return
  for (const part of seen.slice(0, MOST_LINES)) {
    const without = policyWith(present, file, takenBack(text, part))
    yield { part, says: without ? saidBy(without, judged, present) : ['means something only with other changes'] }
  }
}

/** The last line of a change, from 0; for lines that are gone, the line before them. */
export function lastLineOf({ line, after }: ChangedLines): number {
  return Math.max(line + after.length - 1, 0)
}

function fileNamed(files: PolicyFiles, name: string): SourceFile {
  return (files as Readonly<Record<string, SourceFile>>)[name] ?? { name, text: '' }
}

type JudgedTexts = NonNullable<ReturnType<typeof policyWith>>

/** Undefined for files with a fault. */
function policyWith({ files, blocked, resources }: FilesNow, file: string, text: string) {
  try {
    const isBlocked = file === BLOCKED
    const replaced = isBlocked ? files : { ...files, [file]: { name: fileNamed(files, file).name, text } }
    return {
      policy: parsePolicy(replaced, resources),
      blocked: parseBlocked(isBlocked ? { name: blocked.name, text } : blocked),
    }
  } catch (error) {
    if (error instanceof FileError) return undefined
    throw error
  }
}

function saidBy(before: JudgedTexts, after: JudgedTexts, { resources, now }: FilesNow): readonly string[] {
  try {
    return sentencesOf(comparePolicies({ before, after }, { resources, now }))
  } catch (error) {
    if (error instanceof Incomparable) return [error.message]
    throw error
  }
}

const VERBS: Readonly<Record<Direction, string>> = {
  widening: 'widens',
  narrowing: 'narrows',
  either: 'widens or narrows',
  neutral: 'changes no decision',
}

function sentencesOf(changes: readonly PolicyDifference[]): readonly string[] {
  if (changes.length === 0) return [VERBS.neutral]
  return changes.map((one) => `${VERBS[directionOf(one)]}: ${plainText(changeSentence(one))}`)
}

/** A change of comments and empty lines alone says nothing. */
function saysSomething({ before, after }: ChangedLines): boolean {
  return [...before, ...after].some((text) => !/^\s*(?:#|$)/.test(text))
}

/** From 1, with what each change of it means. */
export interface MeaningOfLine {
  readonly file: string
  readonly line: number
  readonly says: readonly string[]
}

/** A line takes as long as there are rules: as many lines as take a second or two. */
const MOST_WORK = 20_000

/** Of all files, some lines of each. */
export function linesOf(
  { before, after }: Readonly<Record<'before' | 'after', LoadedPolicy>>,
  circumstances: Pick<FilesNow, 'resources' | 'now'>,
): readonly MeaningOfLine[] {
  const present = { ...circumstances, files: after.files, blocked: after.blockedFile }
  const most = Math.max(1, Math.floor(MOST_WORK / (after.policy.rules.length + 1)))
  const texts: Readonly<Record<string, SourceFile>> = { ...before.files, [BLOCKED]: before.blockedFile }
  return [...new Set([...Object.keys(texts), ...Object.keys(after.files)])].flatMap((file) =>
    lineMeanings(present, file, texts[file]?.text ?? '')
      .take(most)
      .map(({ part, says }) => ({ file, line: lastLineOf(part) + 1, says }))
      .toArray(),
  )
}
