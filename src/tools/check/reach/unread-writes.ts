/**
 * Finds callers who may change or delete objects of a path but not read them: a write is allowed, and at the same moment
 * the caller may read nothing of the stored object. A caller can have several subjects, and a deny about one of them
 * stops a read that another one allows.
 */
import type { ActionRules, RuleGroup } from '../../../analysis/action-rules.ts'
import { NOWHERE, type Region, TooManyRegions, withoutAll } from '../../../analysis/regions.ts'
import type { ActionRulesIndex, IndexedPolicy } from '../../../analysis/rule-index.ts'
import type { Policy, Rule } from '../../../decide/policy.ts'
import type { RequestCondition } from '../../../decide/request-conditions/all-conditions.ts'
import { AllowedWrite } from './allowed-write.ts'
import { WriteSpace } from './write-space.ts'
import type { WritePair } from './writers.ts'

export interface UnreadWrite {
  /** The subject of the lines that allow the write. */
  readonly subject: string
  readonly line: number
  /** The smallest set of subjects that a caller needs for this write. */
  readonly caller: readonly string[]
  /** Whether no single line of the caller allows such a write, so that several lines have to take part. */
  readonly isTogether: boolean
  /** The leaves and conditions that hold for an object that the caller can't read. */
  readonly holding: readonly string[]
}

interface UnreadWrites {
  readonly found: readonly UnreadWrite[]
  readonly isDecided: boolean
}

export function findUnreadWrites(pair: WritePair, known: IndexedPolicy): UnreadWrites {
  try {
    const finding = new UnreadWriteSearch(pair, known)
    const alone = finding.alone()
    const together = finding.together(new Set(alone.map(({ subject }) => subject)))
    return { found: [...alone, ...together], isDecided: finding.isDecided }
  } catch (error) {
    if (!(error instanceof TooManyRegions)) throw error
    return { found: [], isDecided: false }
  }
}

const NEED_CREDENTIALS: readonly RequestCondition['kind'][] = ['credential', 'signedIn']

class UnreadWriteSearch {
  readonly #pair: WritePair
  readonly #policy: Policy
  readonly #index: ActionRulesIndex
  readonly #space: WriteSpace
  readonly #allowed: AllowedWrite
  readonly #joined: JoinedCallers
  /** The subjects of denies about reading; for a PUT, also of denies about fields that it would have to keep. */
  readonly #deniers: ReadonlySet<string>
  readonly #verdicts = new Map<string, Ruling | undefined>()

  constructor(pair: WritePair, known: IndexedPolicy) {
    const { write, read, operation } = pair
    const place = { resource: write.resource, space: write.space }
    this.#pair = pair
    this.#policy = known.policy
    this.#index = known.index
    this.#space = new WriteSpace({ operation, written: place, others: [], resources: known.resources })
    this.#allowed = new AllowedWrite({ space: this.#space, operation, written: write, place }, known)
    this.#joined = new JoinedCallers([write, read], known.index)
    const denying = operation === 'replace' ? [read, write] : [read]
    this.#deniers = this.#joined.distinct(new Set(denying.flatMap((rules) => [...rules.subjects('deny')])))
  }

  get isDecided(): boolean {
    return this.#joined.areAll
  }

  /** The groups of lines that allow such a write alone. */
  alone(): readonly UnreadWrite[] {
    const { write } = this.#pair
    return [...write.subjects('allow')].flatMap((subject) =>
      write
        .groups('allow', subject)
        .flatMap((group) => this.#unreadWrites(subject, group, this.#aloneBy(subject, group))),
    )
  }

  /** Lines that allow such a write only together. `alone`: subjects with a line that allows it alone. */
  together(alone: ReadonlySet<string>): readonly UnreadWrite[] {
    const { write } = this.#pair
    const isOther = (subject: string) => alone.isDisjointFrom(this.#index.subjectsOf(subject))
    const writers = this.#joined.distinct([...write.subjects('allow')].filter(isOther))
    const others = this.#joined.distinct([...writers, ...[...this.#deniers].filter(isOther)])
    const found = [...writers].flatMap((subject) => {
      const verdict = this.#togetherBy(subject, others)
      return verdict ? this.#partsOf(verdict) : []
    })
    return [...new Map(found.map((one) => [one.line, { ...one, isTogether: true }])).values()]
  }

  #partsOf(verdict: Ruling): readonly UnreadWrite[] {
    const { subjects } = verdict.caller
    return [...subjects].flatMap((name) =>
      this.#pair.write.groups('allow', name).flatMap((group) => {
        const region = this.#space.regions.both(verdict.region, this.#allowed.takesPart(group, subjects))
        return region === NOWHERE ? [] : this.#unreadWrites(name, group, { ...verdict, region })
      }),
    )
  }

  #unreadWrites(subject: string, { column }: RuleGroup, verdict: Ruling | undefined): readonly UnreadWrite[] {
    if (!verdict) return []
    const line = this.#pair.write.firstLine('allow', subject, column)
    const holding = this.#space.heldBefore(verdict.region)
    return [{ subject, line, caller: verdict.caller.names, isTogether: false, holding }]
  }

  /** Subjects with the same rules are judged together. */
  #aloneBy(subject: string, group: RuleGroup): Ruling | undefined {
    const key = JSON.stringify([this.#joined.likenessOf(subject), String(group.fields), group.region])
    const known = this.#verdicts.get(key)
    if (known) return { ...known, caller: this.#joined.renamed(known.caller, known.of, subject) }
    if (this.#verdicts.has(key)) return undefined
    const verdict = this.#first(subject, this.#deniers, (caller) => this.#allowed.by([group], caller.subjects))
    this.#verdicts.set(key, verdict)
    return verdict
  }

  #togetherBy(subject: string, others: ReadonlySet<string>): Ruling | undefined {
    const { write } = this.#pair
    return this.#first(subject, others, ({ subjects }) => {
      const allows = write.extents('allow', subjects)
      return allows.length < 2 ? NOWHERE : this.#allowed.by(allows, subjects)
    })
  }

  /** The first caller with this subject, and others if needed, who has such a write. */
  #first(subject: string, others: ReadonlySet<string>, writing: (caller: JoinedCaller) => Region): Ruling | undefined {
    if (!this.#canBeUnread(subject)) return undefined
    for (const caller of this.#joined.of(subject, others)) {
      const region = this.#unread(writing(caller), caller)
      if (region !== NOWHERE) return { of: subject, caller, region }
    }
    return undefined
  }

  #unread(writable: Region, { subjects }: JoinedCaller): Region {
    if (writable === NOWHERE) return NOWHERE
    const { regions } = this.#space
    const mine = subjects.has('anonymous') ? regions.both(writable, this.#nobody) : writable
    return regions.minus(mine, this.#allowed.readable(this.#pair.read, subjects))
  }

  /** The situations in which somebody without credentials can ask. */
  get #nobody(): Region {
    const { regions } = this.#space
    const credentials = [...this.#policy.conditions].filter(([, { kind }]) => NEED_CREDENTIALS.includes(kind))
    const met = regions.any(credentials.map(([name]) => this.#space.condition(name, 'write')))
    return regions.minus(this.#space.unrelated, met)
  }

  /** Whether some object stays unread by the subject if every deny is about the subject. */
  #canBeUnread(subject: string): boolean {
    const { read } = this.#pair
    const { space } = read
    const denies = [...this.#deniers].flatMap((name) => read.extents('deny', this.#index.subjectsOf(name)))
    const allows = read.extents('allow', this.#index.subjectsOf(subject))
    const shown = withoutAll(space.regions, allows, denies).map(({ region }) => space.storedSide(region))
    return !space.regions.isWithin(space.storedSide(space.possibleSituations), space.regions.any(shown))
  }
}

interface Ruling {
  /** The subject that the verdict is about. */
  readonly of: string
  readonly caller: JoinedCaller
  readonly region: Region
}

/** The first line of the lines that allow the write. */
export function firstLineOf(write: ActionRules): number {
  const lines = [...write.subjects('allow')].flatMap((subject) =>
    write.groups('allow', subject).map(({ column }) => write.firstLine('allow', subject, column)),
  )
  return Math.min(...lines)
}

// ---- Callers that differ by what some rules say about them: with one subject, or with several.

interface JoinedCaller {
  /** Without names that another name inherits. */
  readonly names: readonly string[]
  readonly subjects: ReadonlySet<string>
}

/** More callers of one subject than this take longer than a person would wait. */
const MOST_CALLERS = 256

const EFFECTS: readonly Rule['effect'][] = ['allow', 'deny']

class JoinedCallers {
  readonly #about: readonly ActionRules[]
  readonly #index: ActionRulesIndex
  /** A bit for each statement of a rule; and the bits of each profile of subjects. */
  readonly #bits = new Map<string, bigint>()
  readonly #rows = new Map<string, bigint>()
  #areAll = true

  constructor(about: readonly ActionRules[], index: ActionRulesIndex) {
    this.#about = about
    this.#index = index
  }

  /** Whether no caller was left out. */
  get areAll(): boolean {
    return this.#areAll
  }

  /** Equal for two subjects if the rules say the same about both, and both can have the same further subjects. */
  likenessOf(subject: string): string {
    return this.#keyOf([subject])
  }

  /** One of each group of subjects that are alike. */
  distinct(subjects: Iterable<string>): ReadonlySet<string> {
    return new Set([...Map.groupBy(subjects, (name) => this.likenessOf(name)).values()].flatMap(([one]) => one ?? []))
  }

  /** The callers with this subject, and perhaps some of the others. Callers with the fewest subjects come first. */
  *of(subject: string, others: Iterable<string>): Iterable<JoinedCaller> {
    const mine = this.#index.subjectsOf(subject)
    const further = [...others].filter((name) => !mine.has(name))
    const seen = new Set<string>()
    for (let callers: Iterable<readonly string[]> = [[subject]]; ; ) {
      const kept: (readonly string[])[] = []
      for (const names of callers) {
        const key = this.#keyOf(names)
        if (seen.has(key)) continue
        if (seen.size >= MOST_CALLERS) {
          this.#areAll = false
          return
        }
        seen.add(key)
        kept.push(names)
        yield this.#callerOf(names)
      }
      if (kept.length === 0) return
      callers = this.#joined(kept, further)
    }
  }

  /** The same caller with another subject in place of its first one, which is like it. */
  renamed({ names }: JoinedCaller, from: string, to: string): JoinedCaller {
    return this.#callerOf(names.map((name) => (name === from ? to : name)))
  }

  *#joined(callers: readonly (readonly string[])[], further: readonly string[]): Iterable<readonly string[]> {
    for (const names of callers) {
      const later = further.slice(1 + further.indexOf(names.at(-1) ?? ''))
      for (const name of later) if (names.every((one) => this.#index.canBeOneCaller(one, name))) yield [...names, name]
    }
  }

  #keyOf(names: readonly string[]): string {
    const rows = names.reduce((all, name) => all | this.#rowsOf(name), 0n)
    const kinds = new Set(names.map((name) => this.#index.kindOf(name)))
    return `${[...kinds].toSorted().join()} ${rows.toString(36)}`
  }

  #callerOf(names: readonly string[]): JoinedCaller {
    const heirs = names.filter(
      (name) => !names.some((other) => other !== name && this.#index.subjectsOf(other).has(name)),
    )
    const subjects = names.reduce<ReadonlySet<string>>((all, one) => all.union(this.#index.subjectsOf(one)), new Set())
    return { names: heirs, subjects }
  }

  /** What the rules say about a subject: each rule's effect, fields and region, with its position in `about`. */
  #rowsOf(subject: string): bigint {
    return this.#rows.getOrInsertComputed(this.#index.profileOf(subject), () => {
      const subjects = this.#index.subjectsOf(subject)
      const rows = this.#about.flatMap((rules, i) =>
        EFFECTS.flatMap((effect) =>
          rules.extents(effect, subjects).map(({ fields, region }) => `${i} ${effect} ${fields} ${region}`),
        ),
      )
      return rows.reduce(
        (mask, row) => mask | this.#bits.getOrInsertComputed(row, () => 1n << BigInt(this.#bits.size)),
        0n,
      )
    })
  }
}
