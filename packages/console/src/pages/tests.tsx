/** Matrices of expected answers: changed cell by cell, run against the policy in force or a draft, and measured. */
import { useCallback, useEffect, useState } from 'preact/hooks'
import type { Told } from '../api/ask.ts'
import type { ShownMatrices } from '../api/types.ts'
import { useAnswer } from '../api/use-answer.ts'
import { Answered } from '../parts/answered.tsx'
import { Command } from '../parts/command.tsx'
import type { Spot } from '../parts/spot.ts'
import { useStore } from '../parts/store.ts'
import { setFilter, useAddress } from '../shell/address.ts'
import { MatrixGrid } from './tests-grid.tsx'
import { Found } from './tests-runs.tsx'
import { isSame, nameIn, rowsOf, spotOf, takeServed, tests } from './tests-store.ts'
import { Tools } from './tests-tools.tsx'

export function Tests() {
  const answer = useAnswer<Told<ShownMatrices>>({ path: '/policy/v1/matrices' })
  const now = useStore(tests)
  const { query } = useAddress()
  const [goal, setGoal] = useState<Spot>()
  const [chosen, setChosen] = useState<number>()
  useEffect(() => {
    if (answer.kind === 'told') takeServed(answer.value.result)
  }, [answer])
  const names = [...new Set([...Object.keys(now.served), ...Object.keys(now.changed)])].sort()
  const name = names.find((one) => one === query.get('matrix')) ?? names[0]
  const [find, show] = [(query.get('find') ?? '').toLowerCase(), query.get('show')]
  const isShown = useCallback(
    (row: readonly string[]) =>
      row.join(' ').toLowerCase().includes(find) &&
      (show !== 'wrong' || [...(now.found.get(row)?.values() ?? [])].some(({ meaning }) => meaning !== 'expected')),
    [find, show, now.found],
  )
  return (
    <div class="tall">
      {answer.kind === 'refused' && (
        <Answered answer={answer} action="read">
          {() => null}
        </Answered>
      )}
      <Tools names={names} name={name} chosen={chosen} />
      {name !== undefined && <ServedAnew name={name} />}
      <div class="beside desk">
        {name === undefined ? (
          <p class="sentence" aria-busy={answer.kind === 'waiting'}>
            {answer.kind === 'waiting' ? 'The server is asked…' : 'There is no matrix yet: add one.'}
          </p>
        ) : (
          <MatrixGrid
            key={name}
            name={name}
            rows={rowsOf(now, name)}
            found={now.found}
            isShown={isShown}
            goal={goal}
            choose={setChosen}
          />
        )}
        <Found
          show={(place) => {
            setFilter('matrix', nameIn(place.file))
            setFilter('find', '')
            setGoal(spotOf(tests.get(), place))
          }}
        />
      </div>
      {answer.kind === 'told' && <Command text={answer.value.command} />}
    </div>
  )
}

/** Tells that the server has other rows than those that somebody began to change. */
function ServedAnew({ name }: { readonly name: string }) {
  const { served, changed } = useStore(tests)
  const { [name]: latest } = served
  const from = changed[name]?.from
  if (!from || (latest && isSame(from, latest))) return null
  return (
    <p role="alert" class="trouble">
      The server has other rows of {name} than when you began to change it. Yours are kept, and are those that run.
    </p>
  )
}
