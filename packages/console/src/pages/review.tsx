/** The access report, confirmed and revoked line by line; the result is signed with the person's key. */
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Told } from '../api/ask.ts'
import type { AccessReport, AccessRow, PolicyFiles } from '../api/types.ts'
import { useAnswer } from '../api/use-answer.ts'
import { Answered } from '../parts/answered.tsx'
import { Command } from '../parts/command.tsx'
import { Choice, Field } from '../parts/field.tsx'
import { useStore } from '../parts/store.ts'
import { useEvery } from '../parts/use-every.ts'
import { visible } from '../parts/visible.ts'
import { type Column, Windowed } from '../parts/windowed.tsx'
import { setFilter, useAddress } from '../shell/address.ts'
import { ReviewSigning } from './review-signing.tsx'
import { type Decision, decide, fieldsOf, review, soughtText, takeReport, textOf } from './review-store.ts'

export function Review() {
  const now = useStore(review)
  const [turn, setTurn] = useState<number>()
  const isAsked = !now || turn !== undefined
  const answer = useAnswer<Told<AccessReport>>(
    isAsked ? { path: '/policy/v1/report', body: {}, key: `${turn}` } : undefined,
  )
  useEffect(() => {
    if (answer.kind === 'told') takeReport(answer.value)
  }, [answer])
  const isWaiting = answer.kind === 'waiting'
  return (
    <div class="tall">
      {(!now || answer.kind === 'refused' || (isWaiting && turn !== undefined)) && (
        <Answered answer={answer} action="explain">
          {() => null}
        </Answered>
      )}
      {now && <ReviewView isWaiting={isWaiting} readAgain={() => setTurn((last) => (last ?? 0) + 1)} />}
    </div>
  )
}

interface ReviewViewProps {
  readonly isWaiting: boolean
  readonly readAgain: () => void
}

const CHOICES = ['undecided', 'confirmed', 'revoked']

/** Of the keys that decide; none of them leads to a page after `g`. */
const KEYS: Readonly<Record<string, Decision | undefined>> = { y: 'confirmed', n: 'revoked', Backspace: undefined }

function ReviewView({ isWaiting, readAgain }: ReviewViewProps) {
  const now = useStore(review)
  const { query } = useAddress()
  const [find, decision] = [query.get('find') ?? '', query.get('decision') ?? '']
  const [whole, setWhole] = useState<AccessRow>()
  const all = now?.told.result.rows ?? []
  // Without that filter, a decision changes no list.
  const changes = decision === '' ? undefined : now
  const rows = useMemo(() => shownOf(all, now?.decisions, { find, decision }), [all, changes, find, decision])
  const columns = useMemo(() => columnsOf(now?.decisions), [now])
  if (!now) return null
  const { told, decisions, gone } = now
  const act = (key: string, row: AccessRow) => {
    if (!(key in KEYS)) return undefined
    decide([row], KEYS[key])
    return decision === '' ? 'next' : 'stay'
  }
  const open = (row: AccessRow, column: number) => {
    const wanted = ({ 0: 'confirmed', 1: 'revoked' } as const)[column]
    if (wanted) decide([row], decisions.get(row) === wanted ? undefined : wanted)
    else setWhole(row)
  }
  return (
    <>
      <search class="filters">
        <Field label="Find" name="find" type="search" value={find} onInput={(to) => setFilter('find', to)} isFilter />
        <Choice
          label="Decision"
          name="decision"
          value={decision}
          options={CHOICES}
          all="all lines"
          onChange={(to) => setFilter('decision', to)}
        />
        <button type="button" onClick={() => decide(rows, 'confirmed')}>
          Confirm all shown
        </button>
        <button type="button" onClick={() => decide(rows, undefined)}>
          Take back all shown
        </button>
        <button type="button" disabled={isWaiting} onClick={readAgain}>
          Read the report again
        </button>
        <output>{countsText(rows.length, all.length, decisions)}</output>
      </search>
      <Remarks report={told.result} gone={gone} />
      <Windowed label="Access report" rows={rows} columns={columns} keyOf={textOf} open={open} act={act} />
      {whole && <WholeLine row={whole} />}
      <ReviewSigning />
      <Command text={told.command} />
    </>
  )
}

/** What speaks about the whole report. */
function Remarks({ report: result, gone }: { readonly report: AccessReport; readonly gone: number }) {
  const inForce = useAnswer<PolicyFiles>({ path: '/policy/v1/files', turn: useEvery(15_000) })
  const remarks = [
    ...result.findings.map(({ message }) => message),
    ...result.undecided.map(
      ({ subject, action, resource, why }) => `Undecided: ${subject}, ${action} ${resource}: ${why}`,
    ),
  ]
  const isOther = inForce.kind === 'told' && inForce.value.revision !== result.revision
  return (
    <>
      {isOther && (
        <p role="alert" class="trouble">
          The policy in force has changed since this report: read it again. What you decided stays, where the access is
          the same.
        </p>
      )}
      {gone > 0 && (
        <p role="status" class="trouble">
          You decided about {gone} lines whose access has changed since, or is gone: look at what is undecided.
        </p>
      )}
      {remarks.length > 0 && (
        <details class="question">
          <summary>{remarks.length} findings and remarks</summary>
          <ul class="plain">
            {remarks.slice(0, MOST_REMARKS).map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
          {remarks.length > MOST_REMARKS && <p>The command tells all of them.</p>}
        </details>
      )}
    </>
  )
}

const MOST_REMARKS = 200

function columnsOf(decisions: ReadonlyMap<AccessRow, Decision> | undefined): readonly Column<AccessRow>[] {
  const of = (row: AccessRow) => decisions?.get(row)
  return [
    {
      title: 'Confirm (y)',
      width: 110,
      show: (row) => (of(row) === 'confirmed' ? 'confirmed' : 'confirm'),
      meaning: (row) => (of(row) === 'confirmed' ? 'all' : 'quiet'),
    },
    {
      title: 'Revoke (n)',
      width: 100,
      show: (row) => (of(row) === 'revoked' ? 'revoked' : 'revoke'),
      meaning: (row) => (of(row) === 'revoked' ? 'no' : 'quiet'),
    },
    ...COLUMNS,
  ]
}

const COLUMNS: readonly Column<AccessRow>[] = [
  { title: 'Who', width: 150, show: whoOf },
  { title: 'Roles', width: 120, show: ({ roles }) => roles.join(' ') },
  { title: 'Resource', width: 110, show: ({ resource }) => resource },
  { title: 'Action', width: 90, show: ({ action }) => action },
  { title: 'When', width: 120, show: ({ when }) => when.join(' or ') || 'always' },
  { title: 'Objects', width: 80, show: ({ objects }) => objects ?? 'new' },
  { title: 'Fields', width: 220, show: (row) => fieldsOf(row).join(' ') },
]

function whoOf({ subject, key }: AccessRow): string {
  return visible(key === null ? subject : `${subject}, key ${key}`)
}

/** All of a line, whose cells may be cut off. */
function WholeLine({ row }: { readonly row: AccessRow }) {
  const { roles, resource, action, when, objects } = row
  const fields = fieldsOf(row)
  return (
    <p role="status" class="question">
      {whoOf(row)} ({roles.join(', ') || 'no role'}): {action} {resource}, {when.join(' or ') || 'always'},{' '}
      {objects === null ? 'a new object' : `objects: ${objects}`}
      {fields.length > 0 && `, fields: ${fields.join(', ')}`}
    </p>
  )
}

interface Filters {
  readonly find: string
  readonly decision: string
}

function shownOf(
  rows: readonly AccessRow[],
  decisions: ReadonlyMap<AccessRow, Decision> | undefined,
  { find, decision }: Filters,
): readonly AccessRow[] {
  const words = find.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0 && decision === '') return rows
  return rows.filter((row) => {
    if (decision !== '' && (decisions?.get(row) ?? 'undecided') !== decision) return false
    return words.every((word) => soughtText(row).includes(word))
  })
}

function countsText(shown: number, all: number, decisions: ReadonlyMap<AccessRow, Decision>): string {
  const confirmed = [...decisions.values()].filter((one) => one === 'confirmed').length
  const revoked = decisions.size - confirmed
  return `${shown} of ${all} lines; ${confirmed} confirmed, ${revoked} revoked, ${all - decisions.size} undecided`
}
