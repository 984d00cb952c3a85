/** Why a request is allowed or refused: by its caller, object and change, or by the id of its record. */
import type { Told } from '../api/ask.ts'
import type { Explained, PolicyFiles } from '../api/types.ts'
import { useAnswer } from '../api/use-answer.ts'
import { Answered } from '../parts/answered.tsx'
import { Command } from '../parts/command.tsx'
import { Choice, Field } from '../parts/field.tsx'
import { Prose } from '../parts/prose.tsx'
import { QuestionForm } from '../parts/question-form.tsx'
import { linesByFile, SourceLines } from '../parts/source-lines.tsx'
import { Table } from '../parts/table.tsx'
import { useAddress } from '../shell/address.ts'
import { DraftOf } from './draft-of.tsx'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** The names are those of the question's body and of the address. */
const FIELDS = [
  { name: 'roles', label: 'Roles', placeholder: 'member, support' },
  { name: 'subject', label: 'Caller', placeholder: 'zoe' },
  { name: 'object', label: 'Object', placeholder: 'its id' },
  { name: 'relation', label: 'Relations', placeholder: 'owner+draft' },
  { name: 'becomes', label: 'Change', placeholder: 'draft>placed' },
  { name: 'with', label: 'Conditions', placeholder: 'office+fresh' },
  { name: 'address', label: 'Address', placeholder: '192.0.2.1' },
  { name: 'at', label: 'Time', placeholder: '2027-01-31T18:00:00Z' },
] as const

export function Ask() {
  const { query } = useAddress()
  const requestId = query.get('requestId')
  const body = bodyOf(query)
  const question = requestId ? { path: '/policy/v1/explain-record', body: { requestId } } : undefined
  const answer = useAnswer<Told<Explained>>(question ?? (body && { path: '/policy/v1/explain', body }))
  return (
    <div class="sheet">
      <QuestionForm key={query.toString()} path="/ask" submit="Explain">
        <Choice label="Method" name="method" value={query.get('method') ?? 'GET'} options={METHODS} />
        <Field
          label="Path"
          name="path"
          value={query.get('path') ?? ''}
          placeholder="/api/orders/{id}"
          isRequired
          isFilter
        />
        {FIELDS.map(({ name, label, placeholder }) => (
          <Field key={name} label={label} name={name} placeholder={placeholder} value={query.get(name) ?? ''} />
        ))}
      </QuestionForm>
      <Answered answer={answer} action="explain">
        {({ command, result }) => <Explanation command={command} explained={result} />}
      </Answered>
    </div>
  )
}

/** Undefined while nothing is asked. */
function bodyOf(query: URLSearchParams): object | undefined {
  if (!query.get('path')) return undefined
  const given = ['method', 'path', ...FIELDS.map(({ name }) => name)].flatMap((name) => {
    const value = query.get(name) ?? ''
    if (value === '') return []
    return [[name, name === 'roles' ? value.split(/[\s,]+/) : value]]
  })
  return { method: 'GET', ...Object.fromEntries(given) }
}

const OUTCOMES = {
  allow: { meaning: 'all', text: 'allowed' },
  deny: { meaning: 'no', text: 'refused' },
  depends: { meaning: 'some', text: 'depends' },
} as const

function Explanation({ command, explained }: { readonly command: string; readonly explained: Explained }) {
  const { request, caller, outcome, reason, answer, misses, notes, revision } = explained
  const { meaning, text } = OUTCOMES[outcome]
  const roles = caller.roles.map(({ name }) => name)
  return (
    <article aria-label="Explanation">
      <h2>
        <span class={`key ${meaning}`}>{text}</span>{' '}
        <code>
          {request.method} {request.path}
        </code>
      </h2>
      <p>
        {caller.subject ?? (roles.length > 0 ? 'Somebody' : 'A caller without credentials')}
        {roles.length > 0 && ` with ${roles.join(', ')}`}: <Prose text={reason} />
        {answer && ` (${[answer.status, answer.code].filter(Boolean).join(' ')})`}.
      </p>
      {notes.map((note) => (
        <p key={note}>
          <Prose text={note} />
        </p>
      ))}
      <Lines explained={explained} />
      <Facts explained={explained} />
      <Cases explained={explained} />
      {misses.length > 0 && <h3>It would be allowed</h3>}
      {misses.map(({ sentence, rules, edits }) => (
        <div key={sentence} class="rule">
          <Prose text={sentence} />
          {rules.map(({ place, text: line }) => (
            <code key={place}>
              {place} {line}
            </code>
          ))}
          {edits.length > 0 && <DraftOf edits={edits} revision={revision} label="Draft this change" />}
        </div>
      ))}
      <Command text={command} />
    </article>
  )
}

/** In the file where the reader may see it; otherwise each line alone. */
function Lines({ explained: { rules } }: { readonly explained: Explained }) {
  const answer = useAnswer<PolicyFiles>(rules.length > 0 ? { path: '/policy/v1/files' } : undefined)
  if (rules.length === 0) return null
  const files = answer.kind === 'told' ? answer.value.files : {}
  const isSame = rules.every(({ place, text }) => lineAt(files, place) === text)
  const byFile = isSame ? [...linesByFile(rules.map(({ place }) => place))] : []
  return (
    <>
      <h3>Lines that decide</h3>
      {byFile.map(([file, marked]) => (
        <SourceLines key={file} file={file} text={files[file] ?? ''} marked={marked} />
      ))}
      {byFile.length === 0 &&
        rules.map(({ place, text, effect }) => (
          <div key={place} class={`rule ${effect}`}>
            <b>
              {place} {effect}
            </b>
            <code>{text}</code>
          </div>
        ))}
    </>
  )
}

/** As explanations quote it; a record's policy may have had another line there. */
function lineAt(files: Readonly<Record<string, string>>, place: string): string | undefined {
  const [[file = '', lines] = []] = linesByFile([place])
  const [number = 0] = lines ?? []
  return files[file]?.split('\n')[number - 1]?.replaceAll(/\s+/g, ' ').trim()
}

const HOLDS = new Map([
  [true, 'holds'],
  [false, 'does not hold'],
  [null, 'open'],
])

function Facts({ explained: { relations, conditions } }: { readonly explained: Explained }) {
  const facts = [...relations, ...conditions]
  if (facts.length === 0) return null
  return (
    <Table title="Relations and conditions" heads={['Name', 'Holds', 'Why']}>
      {facts.map(({ name, holds, why }) => (
        <tr key={name}>
          <th scope="row" class="mono">
            {name}
          </th>
          <td>{HOLDS.get(holds)}</td>
          <td>
            <Prose text={why} />
          </td>
        </tr>
      ))}
    </Table>
  )
}

function Cases({ explained: { cases } }: { readonly explained: Explained }) {
  if (cases.length === 0) return null
  return (
    <Table title="Answers by what holds" heads={['If exactly these hold', 'Outcome', 'Status', 'Lines']}>
      {cases.map(({ relations, conditions, outcome, answer, rules }) => (
        <tr key={[...relations, ...conditions].join()}>
          <th scope="row">{[...relations, ...conditions].join(', ') || 'none'}</th>
          <td class={outcome === 'allow' ? 'all' : 'no'}>{outcome === 'allow' ? 'allowed' : 'refused'}</td>
          <td>{answer?.status}</td>
          <td class="mono">{rules.join(' ')}</td>
        </tr>
      ))}
    </Table>
  )
}
