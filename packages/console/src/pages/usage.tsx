/** Which lines requests needed, by the decision log: a line that nobody needs can go. */
import { useMemo } from 'preact/hooks'
import type { Told } from '../api/ask.ts'
import type { Usage as UsageReport, UsedLine } from '../api/types.ts'
import { useAnswer } from '../api/use-answer.ts'
import { Answered } from '../parts/answered.tsx'
import { Command } from '../parts/command.tsx'
import { Choice } from '../parts/field.tsx'
import { dateTime } from '../parts/time.ts'
import { type Column, Windowed } from '../parts/windowed.tsx'
import { go, setFilter, useAddress } from '../shell/address.ts'

const USES = ['used', 'redundant', 'unused', 'undecided']

export function Usage() {
  const answer = useAnswer<Told<UsageReport>>({ path: '/policy/v1/usage', body: {} })
  return (
    <Answered answer={answer} action="read-decisions">
      {({ command, result }) => <UsedLines command={command} report={result} />}
    </Answered>
  )
}

const MEANINGS: Readonly<Record<string, string>> = {
  used: 'all',
  redundant: 'some',
  unused: 'no',
  undecided: 'untried',
}

const COLUMNS: readonly Column<UsedLine>[] = [
  { title: 'Line', width: 120, show: ({ rule }) => rule, isCode: true },
  { title: 'Use', width: 100, show: ({ use }) => use, meaning: ({ use }) => MEANINGS[use] ?? '' },
  { title: 'Subject', width: 130, show: ({ subject }) => subject },
  { title: 'Resource', width: 130, show: ({ resource }) => resource },
  { title: 'Effect', width: 80, show: ({ effect }) => effect },
  { title: 'Decided', width: 90, show: ({ decided }) => decided },
  { title: 'Matched', width: 90, show: ({ matched }) => matched },
  { title: 'Callers', width: 90, show: ({ people, morePeople }) => (morePeople ? `${people}+` : people) },
  { title: 'Last', width: 190, show: ({ last }) => (last === null ? 'never' : dateTime(last)) },
]

function UsedLines({ command, report }: { readonly command: string; readonly report: UsageReport }) {
  const { query } = useAddress()
  const use = query.get('use') ?? ''
  const rows = useMemo(() => report.lines.filter((line) => use === '' || line.use === use), [report, use])
  return (
    <div class="tall">
      <div class="question">
        <Choice
          label="Use"
          name="use"
          value={use}
          options={USES}
          all="all lines"
          onChange={(value) => setFilter('use', value)}
        />
        <span role="status">
          {rows.length} of {report.lines.length} lines, by the records from {dateTime(report.since)} to{' '}
          {dateTime(report.until)}. Enter or a click shows the records of a line.
        </span>
      </div>
      <Windowed
        label="Use of lines"
        rows={rows}
        columns={COLUMNS}
        keyOf={({ rule }) => rule}
        open={({ rule }) => go('/decisions', { rule })}
      />
      <Command text={command} />
    </div>
  )
}
