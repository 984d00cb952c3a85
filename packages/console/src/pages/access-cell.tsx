/** Why a cell of the matrix is as it is: the lines that decide, and the fields. */
import { useEffect, useRef } from 'preact/hooks'
import type { Matrix, MatrixCell, MatrixRow } from '../api/types.ts'
import { Link } from '../shell/link.tsx'
import { CellGuarantees } from './access-guarantees.tsx'
import { CellEvidence } from './cell-evidence.tsx'

interface CellPanelProps {
  readonly row: MatrixRow
  readonly cell: MatrixCell
  readonly matrix: Matrix
  readonly close: () => void
}

export function CellPanel({ row, cell, matrix, close }: CellPanelProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  // Another cell is read from its head again.
  useEffect(() => heading.current?.focus(), [cell])
  const refused = row.fields.filter((field) => !cell.fields.includes(field))
  const keys = (event: KeyboardEvent) => {
    if (event.key === 'Escape') close()
  }
  const about = matrix.callers.find(({ name }) => name === cell.caller)?.description
  return (
    <aside class="panel" aria-label="Why" onKeyDown={keys}>
      <button type="button" class="close" aria-label="Close" onClick={close}>
        ×
      </button>
      <h2 ref={heading} tabIndex={-1}>
        <span class={`key ${cell.outcome === 'denied' ? 'no' : 'all'}`}>{cell.outcome}</span>
      </h2>
      <p class="who">{cell.caller}</p>
      {about !== undefined && <p class="quiet">{about}</p>}
      <p class="what">
        {row.methods.join(', ')} {row.path}
      </p>
      <h3>Relation</h3>
      <p>{row.relation}</p>
      <h3>Why</h3>
      <p>{REASONS[cell.reason] ?? cell.reason}</p>
      {cell.rules.map(({ place, effect }) => (
        <div key={place} class={`rule ${effect}`}>
          <b>
            {place} {effect}
          </b>
          <code>{matrix.rules?.find((rule) => rule.place === place)?.text}</code>
        </div>
      ))}
      <CellGuarantees row={row} cell={cell} guarantees={matrix.guarantees} />
      <CellEvidence row={row} cell={cell} rows={matrix.rows} />
      <Fields kind="granted" fields={cell.fields} />
      {cell.outcome === 'allowed' && <Fields kind="refused" fields={refused} />}
      <p>
        <Link to="/ask" query={questionOf(row, cell)}>
          Explain this request
        </Link>
      </p>
    </aside>
  )
}

/** Those of `policy matrix`. */
const REASONS: Readonly<Record<string, string>> = {
  granted: 'Lines grant it.',
  'no-rule': 'No line grants it.',
  'deny-rule': 'Lines deny it.',
  'outside-view': "What is granted is outside the path's view.",
  'needs-credentials': "It is about the caller's own record, so it needs credentials.",
  unrelated: 'Without credentials, nobody has a relation to the object.',
  blocked: 'The caller is blocked.',
}

function Fields({ kind, fields }: { readonly kind: 'granted' | 'refused'; readonly fields: readonly string[] }) {
  if (fields.length === 0) return null
  return (
    <>
      <h3>
        Fields {kind} ({fields.length})
      </h3>
      <ul class={`fields ${kind}`}>
        {fields.map((field) => (
          <li key={field}>{field}</li>
        ))}
      </ul>
    </>
  )
}

/** A change from one state to another can't be assumed for a set of relations, so it is asked for all. */
function questionOf({ methods, path, relation, becomes }: MatrixRow, { caller }: MatrixCell): Record<string, string> {
  const [method = 'GET'] = methods
  const isAssumed = becomes === undefined && relation !== '-' && relation !== 'any'
  return { method, path, ...callerOf(caller), ...(isAssumed && { relation }) }
}

/** Callers that no role names ask as they are in the matrix. */
function callerOf(caller: string): Record<string, string> {
  if (caller === 'anonymous') return {}
  if (caller.startsWith('user:')) return { subject: caller.slice('user:'.length) }
  return caller === 'everyone' ? { subject: 'somebody' } : { roles: caller }
}
