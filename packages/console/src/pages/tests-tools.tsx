/** What can be done with the matrices: choose one, run them, measure them, add to them, and take them home. */
import { useState } from 'preact/hooks'
import { csvOf, download } from '../parts/download.ts'
import { Choice, Field } from '../parts/field.tsx'
import { useStore } from '../parts/store.ts'
import { setFilter, useAddress } from '../shell/address.ts'
import { draft } from './draft-store.ts'
import { makeMistakes, measure, runTests, writeMissing } from './tests-runs.tsx'
import { changeRows, type MatrixRows, rowsOf, takeBack, tests } from './tests-store.ts'

interface ToolsProps {
  readonly names: readonly string[]
  readonly name: string | undefined
  /** The row whose number was opened last, from 0. */
  readonly chosen: number | undefined
}

export function Tools({ names, name, chosen }: ToolsProps) {
  const { query } = useAddress()
  const isDraft = Object.keys(useStore(draft)?.changed ?? {}).length > 0
  const ofDraft = isDraft && query.get('against') === 'draft'
  return (
    <>
      <search class="filters">
        <Choice label="Matrix" name="matrix" value={name ?? ''} options={names} onChange={choosing('matrix')} />
        <Field
          label="Find"
          name="find"
          type="search"
          value={query.get('find') ?? ''}
          onInput={choosing('find')}
          isFilter
        />
        <Choice
          label="Show"
          name="show"
          value={query.get('show') ?? ''}
          options={['wrong']}
          all="all rows"
          onChange={choosing('show')}
        />
        {isDraft && (
          <Choice
            label="Against"
            name="against"
            value={query.get('against') ?? ''}
            options={['draft']}
            all="the policy in force"
            onChange={choosing('against')}
          />
        )}
      </search>
      <div class="question">
        <button type="button" class="first" onClick={() => runTests(ofDraft)}>
          Run
        </button>
        <button type="button" onClick={() => measure(ofDraft)}>
          Coverage
        </button>
        <button type="button" onClick={() => makeMistakes(ofDraft)}>
          Mistakes
        </button>
        <button type="button" onClick={() => writeMissing(ofDraft)}>
          Write missing cells
        </button>
        {name !== undefined && <TableTools name={name} chosen={chosen} />}
        <NewMatrix />
      </div>
    </>
  )
}

function choosing(name: string) {
  return (value: string) => setFilter(name, value)
}

function TableTools({ name, chosen }: { readonly name: string; readonly chosen: number | undefined }) {
  const now = useStore(tests)
  const rows = rowsOf(now, name)
  // The first row has the heads.
  const row = chosen !== undefined && chosen > 0 && chosen < rows.length ? chosen : undefined
  const at = row === undefined ? rows.length : row + 1
  return (
    <>
      <button type="button" onClick={() => changeRows(name, (all) => all.toSpliced(at, 0, emptyLike(all)))}>
        {row === undefined ? 'Add a row' : `Add a row below ${row + 1}`}
      </button>
      {row !== undefined && (
        <button type="button" onClick={() => changeRows(name, (all) => all.toSpliced(row, 1))}>
          Delete row {row + 1}
        </button>
      )}
      <button type="button" onClick={() => changeRows(name, withColumn)}>
        Add a column
      </button>
      <button type="button" onClick={() => download(name, 'text/csv;charset=utf-8', csvOf(rows))}>
        Download CSV
      </button>
      {name in now.changed && (
        <button type="button" onClick={() => takeBack(name)}>
          {now.changed[name]?.from ? 'Take back the changes' : 'Remove the matrix'}
        </button>
      )}
    </>
  )
}

function emptyLike([heads = []]: MatrixRows): readonly string[] {
  return heads.map(() => '')
}

function withColumn(rows: MatrixRows): MatrixRows {
  const [heads = []] = rows
  return rows.map((row) => [...heads.map((_, i) => row[i] ?? ''), ''])
}

const START: MatrixRows = [
  ['method', 'path', 'object', 'anonymous', 'note'],
  ['', '', '', '', ''],
]

function NewMatrix() {
  const [given, setGiven] = useState('')
  const name = `${given.replace(/\.csv$/i, '')}.csv`
  const add = (event: SubmitEvent) => {
    event.preventDefault()
    if (rowsOf(tests.get(), name).length === 0) changeRows(name, () => START)
    setFilter('matrix', name)
    setGiven('')
  }
  return (
    <form class="question" onSubmit={add}>
      <Field label="New matrix" name="new" value={given} placeholder="orders" isRequired onInput={setGiven} />
      <button type="submit" disabled={!/^[^/\\.][^/\\]{0,59}$/.test(name.slice(0, -'.csv'.length))}>
        Add
      </button>
    </form>
  )
}
