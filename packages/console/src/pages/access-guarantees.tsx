/** The guarantees that speak of a cell of the matrix. */
import type { Matrix, MatrixCell, MatrixGuarantee, MatrixRow } from '../api/types.ts'

interface CellGuaranteesProps {
  readonly row: MatrixRow
  readonly cell: MatrixCell
  readonly guarantees: Matrix['guarantees']
}

type About = MatrixGuarantee['about'][number]

const MEANINGS: Readonly<Record<string, string>> = { proven: 'all', broken: 'wrong', undecided: 'untried' }

export function CellGuarantees({ row, cell, guarantees }: CellGuaranteesProps) {
  const isAbout = ({ callers, resource, actions }: About) =>
    resource === row.resource && actions.includes(row.action) && callers.includes(cell.caller)
  const found = guarantees.flatMap(({ about, ...one }) => about.filter(isAbout).map((act) => ({ ...one, act })))
  return (
    <>
      <h3>Guarantees</h3>
      {found.length === 0 && <p class="quiet">None speaks of it.</p>}
      {found.map(({ name, status, act }) => (
        <p key={`${name} ${act.terms}`}>
          <span class={`key ${MEANINGS[status] ?? 'neutral'}`}>{status}</span> {name}{' '}
          <span class="quiet">({textOf(act)})</span>
        </p>
      ))}
    </>
  )
}

const EXCEPT: Readonly<Record<string, string>> = { never: 'unless' }

function textOf({ kind, fields, terms }: About): string {
  return [kind, fields?.join(' '), terms && `${EXCEPT[kind] ?? 'when'} ${terms}`].filter(Boolean).join(', ')
}
