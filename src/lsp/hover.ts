/** What a name means, and what a line of policy.csv grants: in the sentences of `policy diff`. */
import type { Hover } from 'vscode-languageserver'
import { changeSentence } from '../analysis/diff/change.ts'
import { Incomparable } from '../analysis/diff/compare-decisions.ts'
import { comparePolicies } from '../analysis/diff/compare-policies.ts'
import { FileError } from '../base/diagnostic.ts'
import type { Policy } from '../decide/policy.ts'
import type { Blocked } from '../policy/parse/parse-blocked.ts'
import { parsePolicy } from '../policy/parse/parse-policy.ts'
import { plainText } from '../present/phrase.ts'
import { cellsOfLine, lastUseOfLine } from './line-use.ts'
import { meaningOfName } from './names/known-names.ts'
import { thingIn } from './names/symbols.ts'
import type { EditorQuestion } from './question.ts'

/** Names come from the files, so the text is plain: nothing in it is markup. */
export async function hoverAt(question: EditorQuestion, log: string | undefined): Promise<Hover | undefined> {
  const { slot, rangeOf } = question
  const parts = [nameText(question), ...(await lineTexts(question, log))].filter((text) => text !== undefined)
  if (parts.length === 0) return undefined
  const range = slot && slot.name !== '' ? { range: rangeOf(slot.start, slot.end) } : {}
  return { contents: { kind: 'plaintext', value: parts.join('\n\n') }, ...range }
}

function nameText({ slot, known }: EditorQuestion): string | undefined {
  const thing = slot && thingIn(slot, known)
  const meaning = thing && meaningOfName(thing.kind, thing.name, thing.resources, known)
  return meaning && `${thing.kind} ${thing.name}\n${meaning}`
}

async function lineTexts(question: EditorQuestion, log: string | undefined): Promise<readonly string[]> {
  const { source, offset, known, files } = question
  if (source.name !== known.files['policy.csv'].name || files.schemaFaults.length > 0) return []
  const line = source.text.slice(0, offset).split('\n').length
  try {
    const policy = parsePolicy(known.files, known.resources)
    const grants = grantsOfLine(policy, line, known)
    if (grants.length === 0) return []
    const used = log === undefined ? undefined : await lastUseOfLine(question, line, log)
    const use = [cellsOfLine(policy, line, known), used].filter((text) => text !== undefined).join(' ')
    return use === '' ? grants : [...grants, use]
  } catch (error) {
    if (error instanceof FileError) return []
    if (error instanceof Incomparable) return [error.message]
    throw error
  }
}

/** Alone, and beside the other lines. Throws Incomparable. */
function grantsOfLine(policy: Policy, line: number, { resources }: EditorQuestion['known']): readonly string[] {
  const rules = policy.rules.filter((rule) => rule.line === line)
  const links = policy.links.filter((link) => link.line === line)
  if (rules.length + links.length === 0) return []
  const without = {
    ...policy,
    rules: policy.rules.filter((rule) => rule.line !== line),
    links: policy.links.filter((link) => link.line !== line),
  }
  const changed = (before: Policy, after: Policy) =>
    comparePolicies(
      { before: { policy: before, blocked: NOBODY }, after: { policy: after, blocked: NOBODY } },
      { resources, now: Date.now() },
    ).map((one) => plainText(changeSentence(one)))
  // A deny alone takes nothing from anybody.
  const alone = changed({ ...policy, rules: [], links: [] }, { ...policy, rules, links: [] })
  const beside = changed(without, policy)
  if (alone.join('\n') === beside.join('\n') && alone.length > 0) return [said('This line', alone)]
  const parts = [said('This line alone', alone), said('Beside the other lines', beside)]
  return [...parts.filter((text) => text !== ''), ...(beside.length === 0 ? [NOTHING] : [])]
}

const NOBODY: Blocked = new Map()

const NOTHING = 'Without this line, every request would be decided alike.'

const MOST_SENTENCES = 12

function said(head: string, sentences: readonly string[]): string {
  if (sentences.length === 0) return ''
  const more = sentences.length - MOST_SENTENCES
  const shown = [...sentences.slice(0, MOST_SENTENCES), ...(more > 0 ? [`and ${more} more`] : [])]
  return [head, ...shown.map((one) => `- ${one}`)].join('\n')
}
