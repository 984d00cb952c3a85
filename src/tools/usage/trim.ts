/**
 * A narrower policy without the grants that no request needed. What can be taken away together is found by deciding one
 * record of each kind again; then the written files are proved by the tools that people use.
 */
import { readdir, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { changeSentence, directionOf } from '../../analysis/diff/change.ts'
import { comparePolicies, countsOf, reportOn } from '../../analysis/diff/compare-policies.ts'
import { guaranteesHeld, guaranteesNoticing } from '../../analysis/guarantees/noticing.ts'
import { compare } from '../../analysis/replay/compare.ts'
import { decideAgain } from '../../analysis/replay/decide-again.ts'
import { EqualDecisions } from '../../analysis/replay/equal-decisions.ts'
import type { Place, SourceFile } from '../../base/diagnostic.ts'
import { tryFolder, writeNew } from '../../base/files/new-files.ts'
import { timeText } from '../../base/time.ts'
import { directPolicy } from '../../decide/grants/direct.ts'
import type { Policy } from '../../decide/policy.ts'
import type { DecisionRecord } from '../../decision-log/decision-record.ts'
import { CELL, ruleLinesOf } from '../../policy/parse/rule-lines.ts'
import type { Revision } from '../../policy/policy-files.ts'
import { plainText } from '../../present/phrase.ts'
import { count } from '../../present/text.ts'
import type { Resources } from '../../resources/resource.ts'
import { checkPolicy } from '../check/check-policy.ts'
import { type LoadedPolicy, loadPolicy, orTell, ToolError } from '../load-policy.ts'
import { withCells } from '../matrix/mutate/mutants.ts'
import { type Stated, statementsOf } from '../matrix/predict/expectations-met.ts'
import { evaluatePolicy } from '../matrix/predict/predict.ts'
import { readPredictedSuite } from '../matrix/predict/suite.ts'
import { recordUnder, replay, replayPolicyOf } from '../replay/replay.ts'
import type { Window } from './coverage.ts'
import type { KeptLine } from './keep.ts'
import { isOfGrant } from './needed-parts.ts'
import { type GrantPart, lineWithout } from './parts.ts'
import { type Usage, usageOf } from './usage.ts'

export interface Trimmed {
  readonly usage: Usage
  readonly out: string
  readonly removed: readonly GrantPart[]
  /** Grants that no request needed, and why they stay. */
  readonly stay: readonly { readonly grant: GrantPart; readonly why: string }[]
  readonly proof: TrimProof
}

interface TrimProof {
  /** Requests that were replayed, and those with another answer. */
  readonly replayed: number
  readonly different: number
  /** Requests that can't be decided again: what they may need stays. */
  readonly notReplayed: number
  /** Errors of `policy check`; broken guarantees are errors. */
  readonly errors: number
  /** Of matrices, those that the policy of today meets. */
  readonly expectations: number
  /** Of these, no longer met. */
  readonly unmet: number
  readonly narrowing: number
  /** Changes that widen, or may. */
  readonly widening: number
}

interface TrimOptions {
  readonly loaded: LoadedPolicy
  readonly resources: Resources
  readonly schemas: string
  /** The folder that `loaded` was read from. */
  readonly policies: string
  readonly matrices: string
  readonly files: readonly string[]
  readonly window: Window
  readonly keep: ReadonlyMap<number, KeptLine>
  readonly out: string
  readonly onProgress: (characters: number) => void
}

/** Kinds of requests that are remembered, each with one record. */
const MOST_KINDS = 50_000

/** Throws ToolError and FileError. */
export async function trim(options: TrimOptions): Promise<Trimmed> {
  const { loaded, keep, out, window } = options
  await refuseTaken(out)
  const equal = new EqualDecisions(loaded.policy, loaded.blocked)
  const kinds = new Map<string, DecisionRecord>()
  const onRecord = (record: DecisionRecord) => {
    kinds.getOrInsert(equal.keyOf(record), record)
    if (kinds.size > MOST_KINDS) {
      throw new ToolError(`the logs have more than ${MOST_KINDS} kinds of requests: write a later --since`)
    }
  }
  const usage = await usageOf({ ...options, onRecord })
  const stay: { grant: GrantPart; why: string }[] = []
  const grants = unusedGrants(usage).filter((grant) => {
    const kept = keep.get(grant.of.line)
    if (kept) stay.push({ grant, why: `kept by ${kept.owner}: ${kept.reason}` })
    return !kept
  })
  const stated = await statedBy(options)
  const search = new TrimSearch(options, [...kinds.values()], stated)
  const removed = await search.removable(grants, stay)
  const evidence = `no request needed it from ${timeText(window.since)} to ${timeText(window.until)} (${count(usage.decided, 'request')})`
  const text = trimmedText(loaded.files['policy.csv'], removed, evidence)
  await orTell(out, () => writeNew(out, filesWith(loaded, text)))
  return { usage, out, removed, stay, proof: await prove(options, stated) }
}

/** Before the logs are read, which may take minutes. */
async function refuseTaken(out: string): Promise<void> {
  await orTell(out, () => tryFolder(out))
  const there = await readdir(resolve(out)).catch(() => [])
  if (there.length > 0) throw new ToolError(`${out || 'the working directory'} isn't empty: name a new folder`)
}

/** Parts of a line that goes as a whole go with it. */
function unusedGrants({ lines }: Usage): readonly GrantPart[] {
  return lines.flatMap((line) => {
    const found = line.use === 'unused' ? [line] : line.parts.filter(({ use }) => use === 'unused')
    return found.flatMap(({ part }) => (part.kind !== 'field' && isOfGrant(part) ? [part] : []))
  })
}

function policyWithout(policy: Policy, grants: readonly GrantPart[]): Policy {
  return { ...policy, rules: policy.rules.flatMap((rule) => lineWithout(rule, grants) ?? []) }
}

/** The expectations of the matrices that the policy of today meets; none without matrices. */
async function statedBy({ matrices, schemas, policies }: TrimOptions): Promise<readonly Stated[]> {
  if (!(await stat(matrices).catch(() => undefined))) return []
  const suite = await readPredictedSuite({ policies, schemas, matrices: [matrices] }, Date.now())
  return (await statementsOf(suite)).met
}

class TrimSearch {
  readonly #options: TrimOptions
  readonly #records: readonly DecisionRecord[]
  readonly #stated: readonly Stated[]

  constructor(options: TrimOptions, records: readonly DecisionRecord[], stated: readonly Stated[]) {
    this.#options = options
    this.#records = records
    this.#stated = stated
  }

  /** As many as can go together; halves are tried where all can't. Adds the others to `stay`. */
  async removable(
    grants: readonly GrantPart[],
    stay: { grant: GrantPart; why: string }[],
  ): Promise<readonly GrantPart[]> {
    const then = await this.#underPresent()
    const accept = async (gone: readonly GrantPart[], tried: readonly GrantPart[]): Promise<readonly GrantPart[]> => {
      if (tried.length === 0) return gone
      const why = await this.#whyNot([...gone, ...tried], then)
      if (why === undefined) return [...gone, ...tried]
      const [only, ...more] = tried
      if (only && more.length === 0) {
        stay.push({ grant: only, why })
        return gone
      }
      const half = Math.ceil(tried.length / 2)
      return accept(await accept(gone, tried.slice(0, half)), tried.slice(half))
    }
    return accept([], grants)
  }

  async #underPresent(): Promise<readonly DecisionRecord[]> {
    const { loaded, resources } = this.#options
    const present = replayPolicyOf(loaded, resources)
    const found = await Promise.all(this.#records.map((record) => recordUnder(present, { ...record, revision: '' })))
    return found.flatMap((one) => ('kind' in one ? [] : [one]))
  }

  /** Why these grants can't go; undefined if they can. */
  async #whyNot(grants: readonly GrantPart[], then: readonly DecisionRecord[]): Promise<string | undefined> {
    await setImmediate()
    const { loaded, resources } = this.#options
    const policy = policyWithout(loaded.policy, grants)
    const now = Date.now()
    if (policy.rules.some(({ actions, views }) => actions.length === 0 || views.length === 0)) return NOTHING_LEFT
    const held = guaranteesHeld(loaded.policy, { resources, now })
    const [broken] = guaranteesNoticing(held, { before: loaded.policy, after: policy }, { resources, now })
    if (broken) return `the guarantee \`${broken.name}\` needs it`
    // A list may be filtered only by fields that every allow names, so one allow less can let more be asked.
    const changes = comparePolicies({ before: loaded, after: { ...loaded, policy } }, { resources, now })
    const wider = changes.find((one) => ['widening', 'either'].includes(directionOf(one)))
    if (wider) return `without it, ${plainText(changeSentence(wider))}`
    const evaluated = evaluatePolicy(policy, resources, now)
    for (const { holds, place } of this.#stated) if (!(await holds(evaluated))) return `${placeText(place)} expects it`
    return this.#answersOtherwise(policy, then)
  }

  async #answersOtherwise(policy: Policy, then: readonly DecisionRecord[]): Promise<string | undefined> {
    const { loaded, resources } = this.#options
    const spans = new Map<number, ReturnType<typeof directPolicy>>()
    const equal = new EqualDecisions(policy, loaded.blocked)
    const policyAt = (time: number) => {
      const snapshot = spans.getOrInsertComputed(equal.spanOf(time), () => directPolicy(policy, resources, time))
      return { revision: 'without' as Revision, blocked: loaded.blocked, snapshot }
    }
    for (const record of then) {
      const again = await decideAgain({ resources, policyAt }, record)
      if (again.kind === 'unconcerned' || again.kind === 'undecidable') continue
      const difference = compare(record, again)
      if (difference) {
        return `a request like ${record.requestId} would be answered ${difference.becomes}, not ${difference.was}`
      }
    }
    return undefined
  }
}

const NOTHING_LEFT = 'nothing would be left of the line'

function placeText({ file, line, column }: Place): string {
  return `${file}:${line}:${column}`
}

function filesWith({ files, blockedFile }: LoadedPolicy, text: string) {
  const written = Object.entries(files).map(([name, source]) => ({
    name,
    text: name === 'policy.csv' ? text : source.text,
  }))
  return [...written, { name: 'blocked.txt', text: blockedFile.text }]
}

// ---- The text of policy.csv without some grants, with the evidence as comments.

/** `evidence`: a sentence about each grant, without a period. Lines that stay keep their text. */
function trimmedText(source: SourceFile, removed: readonly GrantPart[], evidence: string): string {
  const lines = ruleLinesOf(source)
  const byLine = Map.groupBy(removed, ({ of }) => of.line)
  const written: string[] = []
  for (const [i, text] of source.text.split('\n').entries()) {
    const grants = byLine.get(i + 1) ?? []
    const [first] = grants
    // A `check-ignore` stands right above its line, and goes with it.
    const suppressed = first && SUPPRESSION.test(written.at(-1) ?? '') ? [written.pop() ?? ''] : []
    const left = first && lineWithout(first.of, grants)
    if (!first) written.push(text)
    else if (!left) written.push(`# removed: ${evidence}`, `# ${text.trim()}`)
    else {
      const names = grants.map(({ kind, name }) => `${kind} ${name}`).join(', ')
      const changed = (lines.get(i + 1)?.cells ?? [])
        .with(CELL.action, left.actions.join('|'))
        .with(CELL.fields, left.views.join('|'))
      written.push(`# narrowed by ${names}: ${evidence}`, ...suppressed, withCells(changed))
    }
  }
  return written.join('\n')
}

const SUPPRESSION = /^\s*#\s*check-ignore\b/

// ---- The proof

async function prove(options: TrimOptions, stated: readonly Stated[]): Promise<TrimProof> {
  const { loaded, resources, files, window, out } = options
  const now = Date.now()
  const after = await loadPolicy(out, resources)
  const present = replayPolicyOf(loaded, resources)
  // As another revision than that of any record, so that every record is decided under both policies.
  const baseline = {
    resources,
    policyAt: (time: number) => ({ ...present.policyAt(time), revision: 'present' as Revision }),
  }
  const sides = { candidate: replayPolicyOf(after, resources), baseline }
  const asked = { ...window, files, maxExamples: 3, onProgress: options.onProgress }
  const { decided, same, undecidable } = await replay(sides, asked)
  const { errors } = await checkPolicy({ policies: out, resources, users: undefined, now: new Date(now) })
  const evaluated = evaluatePolicy(after.policy, resources, now)
  let unmet = 0
  for (const { holds } of stated) if (!(await holds(evaluated))) unmet += 1
  const names = { before: loaded.files['policy.csv'].name, after: out }
  const changes = countsOf(reportOn(names, { before: loaded, after }, { resources, now }))
  const widening = changes.widening + changes.either
  return {
    replayed: decided,
    different: decided - same,
    notReplayed: [...undecidable.values()].reduce((sum, one) => sum + one, 0),
    errors,
    expectations: stated.length,
    unmet,
    narrowing: changes.narrowing,
    widening,
  }
}
