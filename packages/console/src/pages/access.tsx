/** The access matrix: what each caller may do. A cell opens the lines that decide it. */
import { useMemo, useState } from 'preact/hooks'
import type { Told } from '../api/ask.ts'
import type { Matrix, MatrixCell, MatrixRow } from '../api/types.ts'
import { useAnswer } from '../api/use-answer.ts'
import { Answered } from '../parts/answered.tsx'
import { Command } from '../parts/command.tsx'
import { Choice, Field } from '../parts/field.tsx'
import { QuestionForm } from '../parts/question-form.tsx'
import type { Spot } from '../parts/spot.ts'
import { type Column, Windowed } from '../parts/windowed.tsx'
import { setFilter, useAddress } from '../shell/address.ts'
import { CellPanel } from './access-cell.tsx'

export function Access() {
  const { query } = useAddress()
  const whole = useAnswer<Told<Matrix>>({ path: '/policy/v1/matrix', body: {} })
  const isTooLarge = whole.kind === 'refused' && whole.problem.code === 'question-refused'
  const asked = {
    ...(query.get('resource') && { resources: [query.get('resource')] }),
    ...(query.get('caller') && { roles: [query.get('caller')] }),
  }
  const isAsked = isTooLarge && Object.keys(asked).length > 0
  const part = useAnswer<Told<Matrix>>(isAsked ? { path: '/policy/v1/matrix', body: asked } : undefined)
  return (
    <>
      {isTooLarge && <PartForm sentence={isAsked ? '' : whole.problem.sentence} />}
      <Answered answer={isTooLarge ? part : whole} action="read">
        {({ command, result }) => <MatrixView command={command} matrix={result} isPart={isTooLarge} />}
      </Answered>
    </>
  )
}

/** For a policy whose matrix can't be shown whole. */
function PartForm({ sentence }: { readonly sentence: string }) {
  const { query } = useAddress()
  return (
    <>
      <p class="sentence" role="status">
        {sentence}
      </p>
      <QuestionForm key={query.toString()} path="/access" submit="Show">
        <Field label="Only resource" name="resource" value={query.get('resource') ?? ''} placeholder="orders" />
        <Field label="Only caller" name="caller" value={query.get('caller') ?? ''} placeholder="support" />
      </QuestionForm>
    </>
  )
}

/** A filter's value in the address; empty for all. */
const FILTERS = ['find', 'caller', 'resource', 'action', 'outcome'] as const
type Filters = Readonly<Record<(typeof FILTERS)[number], string>>

interface MatrixViewProps {
  readonly command: string
  readonly matrix: Matrix
  /** Its resource and its caller were chosen before it was asked for. */
  readonly isPart: boolean
}

function MatrixView({ command, matrix, isPart }: MatrixViewProps) {
  const { query } = useAddress()
  const filters = Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? ''])) as Filters
  const [opened, setOpened] = useState<Spot>()
  const columns = useMemo(() => callerColumns(matrix, filters.caller), [matrix, filters.caller])
  const key = JSON.stringify(filters)
  const rows = useMemo(() => matrix.rows.filter((row) => fits(row, filters)), [matrix, key])
  const row = opened && rows[opened.row]
  const cell = row && cellOf(row, columns[opened.column]?.title ?? '')
  const close = () => {
    setOpened(undefined)
    document.querySelector<HTMLElement>('[role=gridcell][tabindex="0"]')?.focus()
  }
  const ofRows = (name: 'resource' | 'action') => distinct(matrix.rows.map((one) => one[name]))
  const choices: readonly (readonly [keyof Filters, readonly string[]])[] = [
    ...(isPart
      ? []
      : ([
          ['caller', matrix.callers.map(({ name }) => name)],
          ['resource', ofRows('resource')],
        ] as const)),
    ['action', ofRows('action')],
    ['outcome', ['allowed', 'denied']],
  ]
  const choose = (name: keyof Filters) => (value: string) => {
    setOpened(undefined)
    setFilter(name, value)
  }
  return (
    <div class="tall">
      <search class="filters">
        <Field label="Find" name="find" type="search" value={filters.find} onInput={choose('find')} isFilter />
        {choices.map(([name, options]) => (
          <Choice
            key={name}
            label={`${name.charAt(0).toUpperCase()}${name.slice(1)}`}
            name={name}
            value={filters[name]}
            options={options}
            all={`all ${name}s`}
            onChange={choose(name)}
          />
        ))}
        <output>
          {rows.length} of {matrix.rows.length} rows
        </output>
      </search>
      <div class="beside">
        <Windowed
          label="Access matrix"
          rows={rows}
          columns={columns}
          keyOf={keyOfRow}
          opened={opened}
          open={(one, column) => setOpened({ row: rows.indexOf(one), column })}
        />
        {row && cell && <CellPanel row={row} cell={cell} matrix={matrix} close={close} />}
      </div>
      <Command text={command} />
    </div>
  )
}

const LEADING: readonly Column<MatrixRow>[] = [
  { title: 'Method', width: 90, show: ({ methods }) => methods.join(' '), isCode: true },
  { title: 'Path', width: 220, show: ({ path }) => path, isCode: true },
  { title: 'Relation', width: 160, show: relationOf },
]

function callerColumns({ callers }: Matrix, chosen: string): readonly Column<MatrixRow>[] {
  const all = callers.map(({ name }, i) => ({
    title: name,
    width: 110,
    show: (row: MatrixRow) => textOf(cellOf(row, name, i)),
    meaning: (row: MatrixRow) => toneOf(cellOf(row, name, i)),
  }))
  return [...LEADING, ...all.filter(({ title }) => chosen === '' || title === chosen)]
}

function relationOf({ relation, becomes }: MatrixRow): string {
  return becomes === undefined ? relation : `${relation} > ${becomes}`
}

/** `at`: where it stands among the callers, and so mostly among the cells of a row. */
function cellOf({ cells }: MatrixRow, caller: string, at = 0): MatrixCell | undefined {
  return cells[at]?.caller === caller ? cells[at] : cells.find((cell) => cell.caller === caller)
}

function textOf(cell: MatrixCell | undefined): string {
  if (!cell) return ''
  if (cell.outcome === 'denied') return 'no'
  return cell.granted === 'all' ? 'yes' : cell.views.join(' ') || 'some fields'
}

export function toneOf(cell: MatrixCell | undefined): string {
  if (!cell) return ''
  if (cell.outcome === 'denied') return 'no'
  return cell.granted === 'all' ? 'all' : 'some'
}

function keyOfRow({ methods, path, relation, becomes = '', object }: MatrixRow): string {
  return [...methods, path, object, relation, becomes].join(' ')
}

function fits(row: MatrixRow, { find, caller, resource, action, outcome }: Filters): boolean {
  const judged = caller === '' ? row.cells : row.cells.filter((cell) => cell.caller === caller)
  const words = find.toLowerCase().split(/\s+/).filter(Boolean)
  return (
    (resource === '' || row.resource === resource) &&
    (action === '' || row.action === action) &&
    (outcome === '' || judged.some((cell) => cell.outcome === outcome)) &&
    (words.length === 0 || words.every((word) => textOfRow(row).includes(word)))
  )
}

const texts = new WeakMap<MatrixRow, string>()

/** Put together once, and not at each key of whoever looks for something. */
function textOfRow(row: MatrixRow): string {
  const known = texts.get(row)
  if (known !== undefined) return known
  const text = makeText(row)
  texts.set(row, text)
  return text
}

function makeText(row: MatrixRow): string {
  const places = row.cells.flatMap(({ rules }) => rules.map(({ place }) => place))
  return [row.resource, row.action, relationOf(row), row.path, ...row.methods, ...row.fields, ...places]
    .join(' ')
    .toLowerCase()
}

function distinct(values: readonly string[]): readonly string[] {
  return [...new Set(values)].sort()
}
