/** Who can do something, and what a person can do. */
import type { Told } from '../api/ask.ts'
import type { CanDo, WhoCan } from '../api/types.ts'
import { useAnswer } from '../api/use-answer.ts'
import { Answered } from '../parts/answered.tsx'
import { Command } from '../parts/command.tsx'
import { Choice, Field } from '../parts/field.tsx'
import { QuestionForm } from '../parts/question-form.tsx'
import { Table } from '../parts/table.tsx'
import { dateTime } from '../parts/time.ts'
import { useAddress } from '../shell/address.ts'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

export function Who() {
  const { query } = useAddress()
  const value = (name: string) => query.get(name) ?? ''
  return (
    <div class="sheet">
      <section>
        <h2>Who can do it</h2>
        <QuestionForm key={`who ${query}`} path="/who" submit="Find who">
          <Choice label="Method" name="method" value={value('method') || 'GET'} options={METHODS} />
          <Field label="Path" name="path" value={value('path')} placeholder="/api/orders/17" isRequired isFilter />
          <Field label="Field" name="field" value={value('field')} placeholder="all" />
        </QuestionForm>
        {value('path') !== '' && (
          <WhoAnswer method={value('method') || 'GET'} path={value('path')} field={value('field')} />
        )}
      </section>
      <section>
        <h2>What a person can do</h2>
        <QuestionForm key={`of ${query}`} path="/who" submit="Find what">
          <Field label="Caller" name="subject" value={value('subject')} placeholder="user:zoe" isRequired />
        </QuestionForm>
        {value('subject') !== '' && <OfAnswer subject={value('subject')} />}
      </section>
    </div>
  )
}

function WhoAnswer({
  method,
  path,
  field,
}: {
  readonly method: string
  readonly path: string
  readonly field: string
}) {
  const body = { method, path, ...(field !== '' && { field }) }
  const answer = useAnswer<Told<WhoCan>>({ path: '/policy/v1/who', body })
  return (
    <Answered answer={answer} action="explain">
      {({ command, result: { who, undecided } }) => (
        <>
          <Table title="Callers who can" heads={['Caller', 'Roles', 'When', 'Lines', 'Last']}>
            {who.map((one) => (
              <tr key={[one.kind, one.subject, ...one.roles, ...one.when].join()}>
                <th scope="row">{one.subject ?? one.kind}</th>
                <td>{one.roles.join(', ')}</td>
                <td>{one.when.join('; ') || 'always'}</td>
                <td class="mono">{one.rules.join(' ')}</td>
                <td>{one.lastDone === null ? '' : dateTime(one.lastDone)}</td>
              </tr>
            ))}
          </Table>
          {who.length === 0 && <p>Nobody can.</p>}
          {undecided.map(({ subject, why }) => (
            <p key={`${subject} ${why}`}>
              Undecided for {subject ?? 'others'}: {why}
            </p>
          ))}
          <Command text={command} />
        </>
      )}
    </Answered>
  )
}

function OfAnswer({ subject }: { readonly subject: string }) {
  const answer = useAnswer<Told<CanDo>>({ path: '/policy/v1/of', body: { subject } })
  return (
    <Answered answer={answer} action="explain">
      {({ command, result: { roles, status, resources, undecided } }) => (
        <>
          <p>
            {subject} is {status}, with {roles.join(', ') || 'no role'}.
          </p>
          <Table title="Actions" heads={['Resource', 'Action', 'When', 'Objects']}>
            {resources.flatMap(({ resource, objects, actions }) =>
              actions.map(({ action, when, objects: count }) => (
                <tr key={`${resource} ${action} ${when}`}>
                  <th scope="row">{resource}</th>
                  <td>{action}</td>
                  <td>{when.join('; ') || 'always'}</td>
                  <td>{count === null ? '' : `${count} of ${objects}`}</td>
                </tr>
              )),
            )}
          </Table>
          {undecided.map(({ resource, action, why }) => (
            <p key={`${resource} ${action}`}>
              Undecided: {action} of {resource}: {why}
            </p>
          ))}
          <Command text={command} />
        </>
      )}
    </Answered>
  )
}
