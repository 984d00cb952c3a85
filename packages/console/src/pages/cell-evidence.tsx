/** What there is about a cell beside its lines: the rows of matrices that state it, and its last use. */
import { useMemo, useState } from 'preact/hooks'
import type { Told } from '../api/ask.ts'
import type { DecisionRecord, MatrixCell, MatrixRow, StatedCells } from '../api/types.ts'
import { useAnswer } from '../api/use-answer.ts'
import { Answered } from '../parts/answered.tsx'
import { dateTime } from '../parts/time.ts'
import { Link } from '../shell/link.tsx'
import { nameIn } from './tests-store.ts'

interface CellEvidenceProps {
  readonly row: MatrixRow
  readonly cell: MatrixCell
  readonly rows: readonly MatrixRow[]
}

export function CellEvidence({ row, cell, rows }: CellEvidenceProps) {
  return (
    <>
      <h3>Matrix rows that state it</h3>
      <StatedBy row={row} cell={cell} rows={rows} />
      <h3>Last use, of any object</h3>
      <LastUse key={`${row.methods} ${row.path} ${cell.caller}`} row={row} cell={cell} />
    </>
  )
}

function StatedBy({ row, cell, rows }: CellEvidenceProps) {
  const [method = 'GET'] = row.methods
  const body = { method, path: row.path, roles: [cell.caller] }
  const answer = useAnswer<Told<StatedCells>>({ path: '/policy/v1/matrix-find', body })
  const beside = useMemo(
    () => rows.filter(({ methods, path }) => path === row.path && methods.includes(method)).map(relationsOf),
    [rows, row],
  )
  // A server without matrices says so, which is no news here.
  if (answer.kind === 'refused' && answer.problem.sentence.includes('no such file')) return <p class="quiet">none</p>
  return (
    <Answered answer={answer} action="read">
      {({ result: { cells } }) => {
        const stating = cells.filter((one) => isAbout(row, one.cell, beside))
        if (stating.length === 0) return <p class="quiet">none</p>
        return (
          <ul class="plain">
            {stating.map(({ place: { file, line, column }, cell: { object, expected, event, when, becomes } }) => (
              <li key={`${file}:${line}:${column}`}>
                <Link to="/tests" query={{ matrix: nameIn(file), find: row.path }}>
                  {nameIn(file)}:{line}
                </Link>{' '}
                {[object, event, when, becomes].filter(Boolean).join(', ')}: {expected}
              </li>
            ))}
          </ul>
        )
      }}
    </Answered>
  )
}

type Stated = StatedCells['cells'][number]['cell']

/** A row of the access matrix stands for the objects with its relations, but those that another row is closer to. */
function isAbout(
  row: MatrixRow,
  { object: before, event, becomes: result }: Stated,
  beside: readonly (readonly string[])[],
): boolean {
  const object = event === 'created' ? (result ?? before) : before
  const becomes = event ? undefined : result
  if ((row.becomes === undefined) !== (becomes === undefined)) return row.object === 'created'
  if (row.object !== 'stored') return true
  if (object === 'none' || object === 'missing') return false
  const held = new Set(object === 'other' ? [] : object.split('+').map((name) => (name === 'own' ? 'owner' : name)))
  const fits = (relations: readonly string[]) => relations.every((name) => held.has(name))
  const own = relationsOf(row)
  return fits(own) && !beside.some((other) => other.length > own.length && fits(other))
}

function relationsOf({ relation }: MatrixRow): readonly string[] {
  return ['none', '-', 'any'].includes(relation) ? [] : relation.split('+')
}

/** Asked by a button: where nobody made such a request, the whole log is read. */
function LastUse({ row: { resource, action, path }, cell: { caller, outcome } }: Omit<CellEvidenceProps, 'rows'>) {
  const [isAsked, setAsked] = useState(false)
  const filter = { resource, action, route: path, outcome: outcome === 'allowed' ? 'allowed' : 'refused' }
  const who = callerIn(caller)
  const question = { path: '/policy/v1/decisions', body: { ...filter, ...who, limit: 1 } }
  const answer = useAnswer<Told<{ readonly records: readonly DecisionRecord[] }>>(isAsked ? question : undefined)
  if (!who) return <p class="quiet">The log is searched by role, and these callers have none.</p>
  if (!isAsked) {
    return (
      <button type="button" onClick={() => setAsked(true)}>
        Look it up
      </button>
    )
  }
  return (
    <Answered answer={answer} action="read-decisions">
      {({ result: { records } }) =>
        records.length === 0 ? (
          <p role="status">never, in the log that is kept</p>
        ) : (
          <p role="status">
            {records.map(({ requestId, time, subject = 'somebody without credentials' }) => (
              <Link key={requestId} to="/ask" query={{ requestId }}>
                {dateTime(time)} by {subject}
              </Link>
            ))}
          </p>
        )
      }
    </Answered>
  )
}

/** As the log is searched; undefined for callers without a role. */
function callerIn(column: string): object | undefined {
  if (column.startsWith('user:')) return { subject: column.slice('user:'.length) }
  return column === 'anonymous' || column === 'everyone' ? undefined : { role: column }
}
