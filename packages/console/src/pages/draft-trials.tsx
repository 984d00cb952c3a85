/** What a draft would answer: to the requests of the matrices, and to those of the last day. Both take long. */
import type { Told } from '../api/ask.ts'
import { createLong } from '../api/long.ts'
import { session } from '../api/session.ts'
import type { MatrixRun, Replayed } from '../api/types.ts'
import { Command } from '../parts/command.tsx'
import { LongAnswer } from '../parts/long-answer.tsx'
import { createStore, useStore } from '../parts/store.ts'
import { Link } from '../shell/link.tsx'
import type { ChangedFiles } from './draft-store.ts'
import { RunFound } from './tests-found.tsx'
import { broughtWith, tests } from './tests-store.ts'

const MATRICES = createLong<MatrixRun>()
const REPLAY = createLong<Told<Replayed>>()
/** The files that were tried last. */
const tried = createStore<ChangedFiles | undefined>(undefined)
session.follow(() => {
  if (session.get().kind === 'none') tried.set(undefined)
})

export function DraftTrials({ files }: { readonly files: ChangedFiles }) {
  const last = useStore(tried)
  const begin = () => {
    if (last === files) return
    MATRICES.stop()
    REPLAY.stop()
    tried.set(files)
  }
  const run = () => {
    begin()
    MATRICES.ask('/policy/v1/matrix-test', { ...broughtWith(tests.get()), files })
  }
  const replay = () => {
    begin()
    REPLAY.ask('/policy/v1/replay', { files, since: '24h' })
  }
  return (
    <>
      <h2>Try it</h2>
      <p class="question">
        <button type="button" onClick={run}>
          Run the matrices
        </button>
        <button type="button" onClick={replay}>
          Replay the last day
        </button>
      </p>
      {last !== undefined && last !== files && <p role="status">You have changed the text since it was tried.</p>}
      <LongAnswer title="Matrices" of={MATRICES} action="draft">
        {(found) => (
          <>
            <RunFound run={found} />
            <p>
              <Link to="/tests" query={{ against: 'draft' }}>
                See them at their cells
              </Link>
            </p>
          </>
        )}
      </LongAnswer>
      <LongAnswer title="The last day" of={REPLAY} action="read-decisions">
        {(replayed) => <ReplayFound {...replayed} />}
      </LongAnswer>
    </>
  )
}

/** Of the differences; the command has all. */
const MOST = 100

function ReplayFound({ command, result: { decided, same, undecidable, differences } }: Told<Replayed>) {
  return (
    <>
      <p role="status">
        {same} of {decided} requests would get the same answer.
      </p>
      {differences.slice(0, MOST).map(({ change, was, becomes, method, route, roles, relations, rules, count }) => (
        <div key={`${change} ${was} ${becomes} ${method} ${route} ${roles} ${relations} ${rules}`} class="rule">
          <span class={`key ${DIRECTIONS[change] ?? 'either'}`}>{change}</span> {count} × {method} {route} as{' '}
          {roles ? roles.join('+') || 'everyone' : 'anonymous'}: {was}, then {becomes} <code>{rules.join(' ')}</code>
        </div>
      ))}
      {differences.length > MOST && <p>And {differences.length - MOST} more, which the command shows.</p>}
      {undecidable.map(({ why, count }) => (
        <p key={why}>
          {count} can't be decided: {why}
        </p>
      ))}
      <Command text={command} />
    </>
  )
}

const DIRECTIONS: Readonly<Record<string, string>> = {
  'refused-now': 'narrowing',
  'allowed-now': 'widening',
  'perhaps-allowed-now': 'widening',
}
