/** The decision log: who asked for what, and what the server answered. A record opens its explanation. */
import { useMemo } from 'preact/hooks'
import type { Told } from '../api/ask.ts'
import { useFollowed } from '../api/follow.ts'
import type { DecisionRecord } from '../api/types.ts'
import { useAnswer } from '../api/use-answer.ts'
import { Answered } from '../parts/answered.tsx'
import { Command } from '../parts/command.tsx'
import { Choice, Field } from '../parts/field.tsx'
import { QuestionForm } from '../parts/question-form.tsx'
import { dateTime } from '../parts/time.ts'
import { type Column, Windowed } from '../parts/windowed.tsx'
import { go, setFilter, useAddress } from '../shell/address.ts'

/** The names are those of the question's body. */
const SOUGHT = ['subject', 'resource', 'outcome', 'rule', 'since'] as const

export function Decisions() {
  const { query, step: turn } = useAddress()
  const given = SOUGHT.flatMap((name) => (query.get(name) ? [[name, query.get(name)]] : []))
  const body = { ...Object.fromEntries(given), limit: 1000 }
  const answer = useAnswer<Told<Records>>({ path: '/policy/v1/decisions', body, turn })
  const isFollowing = query.has('follow')
  const { since: _since, limit: _limit, ...filter } = body as Record<string, unknown>
  const followed = useFollowed(isFollowing ? filter : undefined)
  const value = (name: string) => query.get(name) ?? ''
  return (
    <div class="tall">
      <QuestionForm key={query.toString()} path="/decisions" submit="Find">
        <Field label="Caller" name="subject" value={value('subject')} placeholder="alice" isFilter />
        <Field label="Resource" name="resource" value={value('resource')} placeholder="orders" />
        <Choice
          label="Outcome"
          name="outcome"
          value={value('outcome')}
          options={['allowed', 'refused', 'failed']}
          all="all"
        />
        <Field label="Line" name="rule" value={value('rule')} placeholder="policy.csv:28" />
        <Field label="Since" name="since" value={value('since')} placeholder="1h" />
        <label class="check">
          <input
            type="checkbox"
            name="follow"
            value="1"
            checked={isFollowing}
            onChange={(event) => setFilter('follow', event.currentTarget.checked ? '1' : '')}
          />{' '}
          follow
        </label>
      </QuestionForm>
      <Answered answer={answer} action="read-decisions">
        {({ command, result: { records } }) => <RecordList command={command} records={[...records, ...followed]} />}
      </Answered>
    </div>
  )
}

interface Records {
  readonly records: readonly DecisionRecord[]
}

const COLUMNS: readonly Column<DecisionRecord>[] = [
  { title: 'Time', width: 190, show: ({ time }) => dateTime(time) },
  { title: 'Outcome', width: 80, show: ({ outcome }) => outcome, meaning: ({ outcome }) => MEANINGS[outcome] },
  { title: 'Status', width: 60, show: ({ status }) => status },
  { title: 'Caller', width: 130, show: ({ subject, authentication = '' }) => subject ?? authentication },
  {
    title: 'Request',
    width: 280,
    show: ({ method, route, action }) => `${method} ${route ?? action ?? ''}`,
    isCode: true,
  },
  { title: 'Action', width: 130, show: ({ resource = '', action = '' }) => `${resource} ${action}` },
  { title: 'Lines', width: 160, show: ({ rules = [] }) => rules.join(' '), isCode: true },
  { title: 'Problem', width: 150, show: ({ problem = '' }) => problem },
]

const MEANINGS = { allowed: 'all', refused: 'no', failed: 'wrong' } as const

interface RecordListProps extends Records {
  readonly command: string
}

function RecordList({ command, records }: RecordListProps) {
  const rows = useMemo(() => {
    // What came between the search and the stream is in both.
    const once = new Map(records.map((record) => [record.requestId, record]))
    return [...once.values()].reverse()
  }, [records])
  return (
    <>
      <p class="count" role="status">
        {rows.length} records, the newest first. Enter or a click explains one.
      </p>
      <Windowed
        label="Decisions"
        rows={rows}
        columns={COLUMNS}
        keyOf={({ requestId }) => requestId}
        open={({ requestId }) => go('/ask', { requestId })}
      />
      <Command text={command} />
    </>
  )
}
