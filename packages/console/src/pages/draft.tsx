/** A copy of the files to change: findings while typing, and beside them what the change means. Nothing is put in force. */
import { useEffect, useState } from 'preact/hooks'
import { ask, Refused, type Told } from '../api/ask.ts'
import type { Drafted, Finding, MeaningOfLine, NamesAtPlace, PolicyFiles } from '../api/types.ts'
import { type Answer, useAnswer } from '../api/use-answer.ts'
import { Answered } from '../parts/answered.tsx'
import { Choice } from '../parts/field.tsx'
import { LazyEditor } from '../parts/lazy-editor.tsx'
import { useStore } from '../parts/store.ts'
import { useEvery } from '../parts/use-every.ts'
import { setFilter, useAddress } from '../shell/address.ts'
import { Proposing } from '../signing/proposing.tsx'
import { BeforeReload } from './before-reload.tsx'
import { DraftMeaning } from './draft-meaning.tsx'
import { begin, type ChangedFiles, change, changedWith, draft, isTooLong, show } from './draft-store.ts'

export function Draft() {
  const turn = useEvery(15_000)
  const inForce = useAnswer<PolicyFiles>({ path: '/policy/v1/files', turn })
  const [latest, setLatest] = useState<PolicyFiles>()
  useEffect(() => {
    if (inForce.kind !== 'told') return
    setLatest(inForce.value)
    if (!draft.get()) show(inForce.value)
  }, [inForce])
  const now = useStore(draft)
  if (!now) {
    return (
      <Answered answer={inForce} action="read">
        {() => null}
      </Answered>
    )
  }
  const { begun, changed, turn: begins } = now
  return (
    <>
      <Desk key={begins} begun={begun} changed={changed} latest={latest ?? begun} />
      <BeforeReload inForce={latest ?? begun} />
    </>
  )
}

interface DeskProps {
  readonly begun: PolicyFiles
  readonly changed: ChangedFiles
  /** In force now. */
  readonly latest: PolicyFiles
}

const NO_FINDINGS: readonly Finding[] = []
const NO_MEANINGS: readonly MeaningOfLine[] = []

function Desk({ begun, changed, latest }: DeskProps) {
  const { query } = useAddress()
  const isLost = useStore(isTooLong)
  const all = new Set([...Object.keys(begun.files), ...Object.keys(changed)])
  const names = [...all].filter((file) => file !== 'model.conf')
  const name = names.find((one) => one === query.get('file')) ?? 'policy.csv'
  const [goal, setGoal] = useState<{ readonly line: number }>()
  const files = useQuiet(changed)
  const question = { path: '/policy/v1/draft', body: { files }, key: keyOf(files) }
  const answer = useAnswer<Drafted>(Object.keys(files).length > 0 ? question : undefined)
  const { findings, meanings } = useLast(answer)
  const show = (finding: Finding) => {
    setFilter('file', nameOf(finding))
    setGoal({ line: finding.line })
  }
  return (
    <div class="tall">
      <div class="question">
        <Choice label="File" name="file" value={name} options={names} onChange={(file) => setFilter('file', file)} />
        <span role="status">{changedText(changed)}</span>
        {Object.keys(changed).length > 0 && (
          <button type="button" onClick={() => begin(latest)}>
            Take back all changes
          </button>
        )}
      </div>
      {isLost && (
        <p role="status" class="trouble">
          The browser has no room to keep this draft over a reload: propose it, or copy it.
        </p>
      )}
      {latest.revision !== begun.revision && (
        <p role="alert" class="trouble">
          The policy in force has changed since you began: it is {latest.revision}, and you began with {begun.revision}.
          Your text is kept; what it means is told against the policy in force.
        </p>
      )}
      {Object.keys(changed).length > 0 && <Proposing inForce={latest} files={changed} />}
      <div class="beside desk">
        <LazyEditor
          key={name}
          name={name}
          text={(name in changed ? changed[name] : begun.files[name]) ?? ''}
          findings={findings[name] ?? NO_FINDINGS}
          meanings={meanings[name] ?? NO_MEANINGS}
          goal={goal}
          tellNames={(text, line, column) => namesIn(changedWith(name, text), { file: name, line, column })}
          onChange={(text) => change(name, text)}
        />
        <DraftMeaning answer={answer} files={files} show={show} />
      </div>
    </div>
  )
}

let asking = new AbortController()

/** The last question alone waits. Undefined where it is refused: typing goes on without names. */
async function namesIn(files: ChangedFiles, at: object): Promise<NamesAtPlace | undefined> {
  asking.abort()
  asking = new AbortController()
  const { signal } = asking
  try {
    return (await ask<Told<NamesAtPlace>>('/policy/v1/names', { files, ...at }, signal)).result
  } catch (error) {
    if (error instanceof Refused || signal.aborted) return undefined
    throw error
  }
}

function changedText(changed: ChangedFiles): string {
  const { away = [], written = [] } = Object.groupBy(Object.keys(changed), (name) =>
    changed[name] === null ? 'away' : 'written',
  )
  const parts = [
    ...(written.length > 0 ? [`Changed: ${written.join(', ')}.`] : []),
    ...(away.length > 0 ? [`Taken away: ${away.join(', ')}.`] : []),
  ]
  return parts.join(' ') || 'Nothing is changed yet.'
}

/** Typing asks nothing until it pauses. */
const PAUSE_MS = 400

function useQuiet<T>(value: T): T {
  const [quiet, setQuiet] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setQuiet(value), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [value])
  return quiet
}

/** Findings name the place of the copy too. */
function nameOf({ file }: Finding): string {
  return file.slice(file.lastIndexOf('/') + 1)
}

const numbers = new WeakMap<object, number>()
let last = 0

/** Another one for each set of texts, which are long. */
function keyOf(files: object): string {
  const number = numbers.get(files) ?? ++last
  numbers.set(files, number)
  return String(number)
}

type ByFile<T> = Readonly<Partial<Record<string, readonly T[]>>>

interface Judged {
  readonly findings: ByFile<Finding>
  readonly meanings: ByFile<MeaningOfLine>
}

const UNJUDGED: Judged = { findings: {}, meanings: {} }

/** Those of the last answer stay until the next one is there. */
function useLast(answer: Answer<Drafted>): Judged {
  const [last, setLast] = useState(UNJUDGED)
  useEffect(() => {
    if (answer.kind === 'none') setLast(UNJUDGED)
    if (answer.kind !== 'told') return
    const { check, diff } = answer.value
    setLast({
      findings: Object.groupBy(check.result.findings, nameOf),
      meanings: Object.groupBy(diff?.result.lines ?? [], ({ file }) => file),
    })
  }, [answer])
  return last
}
