/** The long questions of the page Tests, and what they found; they go on while other pages are looked at. */
import type { ComponentChildren } from 'preact'
import type { Told } from '../api/ask.ts'
import { createLong } from '../api/long.ts'
import type { MatrixCoverage, MatrixRun, Mutation, NewMatrices, TrialResult } from '../api/types.ts'
import { Answered } from '../parts/answered.tsx'
import { useStore } from '../parts/store.ts'
import { draft } from './draft-store.ts'
import { CoverageFound, MistakesFound, RunFound } from './tests-found.tsx'
import { addMatrices, broughtWith, takeRun, tests } from './tests-store.ts'

const RUN = createLong<MatrixRun>()
const COVERAGE = createLong<Told<MatrixCoverage>>()
const MISTAKES = createLong<Told<Mutation>>()
const WRITTEN = createLong<NewMatrices>()

/** `ofDraft`: by the draft of this tab, where there is one. */
function broughtNow(ofDraft: boolean): object {
  const files = draft.get()?.changed ?? {}
  return { ...broughtWith(tests.get()), ...(ofDraft && Object.keys(files).length > 0 && { files }) }
}

export function runTests(ofDraft: boolean): void {
  const asked = tests.get()
  RUN.ask('/policy/v1/matrix-test', broughtNow(ofDraft), (run) => takeRun(run, asked))
}

export function measure(ofDraft: boolean): void {
  COVERAGE.ask('/policy/v1/matrix-coverage', broughtNow(ofDraft))
}

export function makeMistakes(ofDraft: boolean): void {
  MISTAKES.ask('/policy/v1/matrix-mutate', broughtNow(ofDraft))
}

export function writeMissing(ofDraft: boolean): void {
  WRITTEN.ask('/policy/v1/matrix-init', { ...broughtNow(ofDraft), missing: true }, ({ matrices, bodies }) => {
    if (matrices) addMatrices(matrices.result, bodies)
  })
}

interface FoundProps {
  readonly show: (place: TrialResult['place']) => void
}

export function Found({ show }: FoundProps) {
  return (
    <aside class="meaning" aria-label="What was found">
      <Long title="Run" of={RUN} none="Run the matrices: what they find is told here, and at each cell.">
        {(run) => <RunFound run={run} show={show} />}
      </Long>
      <Long title="Coverage" of={COVERAGE}>
        {(coverage) => <CoverageFound {...coverage} />}
      </Long>
      <Long title="Mistakes that nothing notices" of={MISTAKES}>
        {(mutation) => <MistakesFound {...mutation} />}
      </Long>
      <Long title="Missing cells" of={WRITTEN}>
        {({ matrices }) => (
          <p role="status">{matrices ? 'They are in matrices of their own.' : 'Nothing is missing.'}</p>
        )}
      </Long>
    </aside>
  )
}

interface LongProps<T> {
  readonly title: string
  readonly of: ReturnType<typeof createLong<T>>
  readonly none?: string
  readonly children: (value: T) => ComponentChildren
}

function Long<T>({ title, of, none, children }: LongProps<T>) {
  const answer = useStore(of.answer)
  if (answer.kind === 'none') return none === undefined ? null : <p class="quiet">{none}</p>
  return (
    <section>
      <h2>{title}</h2>
      {answer.kind === 'waiting' && (
        <button type="button" onClick={of.stop}>
          Stop
        </button>
      )}
      <Answered answer={answer} action="draft">
        {children}
      </Answered>
    </section>
  )
}
