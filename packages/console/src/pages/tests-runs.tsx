/** The long questions of the page Tests, and what they found; they go on while other pages are looked at. */
import type { Told } from '../api/ask.ts'
import { createLong } from '../api/long.ts'
import type { MatrixCoverage, MatrixRun, Mutation, NewMatrices, TrialResult } from '../api/types.ts'
import { LongAnswer } from '../parts/long-answer.tsx'
import { draft } from './draft-store.ts'
import { CoverageFound, MistakesFound, RunFound } from './tests-found.tsx'
import { addMatrices, broughtWith, takeRun, tests } from './tests-store.ts'

const RUN = createLong<MatrixRun>()
const COVERAGE = createLong<Told<MatrixCoverage>>()
const MISTAKES = createLong<Told<Mutation>>()
const WRITTEN = createLong<NewMatrices>()

/** `ofDraft`: by the draft of this tab, where there is one. */
function broughtNow(ofDraft: boolean): object {
  return { ...broughtWith(tests.get()), files: (ofDraft && draft.get()?.changed) || {} }
}

export function runTests(ofDraft: boolean): void {
  const asked = tests.get()
  RUN.ask('/policy/v1/matrix-test', broughtNow(ofDraft), (run, signal) => takeRun(run, asked, signal))
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
      <LongAnswer
        title="Run"
        of={RUN}
        action="draft"
        none="Run the matrices: what they find is told here, and at each cell."
      >
        {(run) => <RunFound run={run} show={show} />}
      </LongAnswer>
      <LongAnswer title="Coverage" of={COVERAGE} action="draft">
        {(coverage) => <CoverageFound {...coverage} />}
      </LongAnswer>
      <LongAnswer title="Mistakes that nothing notices" of={MISTAKES} action="draft">
        {(mutation) => <MistakesFound {...mutation} />}
      </LongAnswer>
      <LongAnswer title="Missing cells" of={WRITTEN} action="draft">
        {({ matrices }) => (
          <p role="status">{matrices ? 'They are in matrices of their own.' : 'Nothing is missing.'}</p>
        )}
      </LongAnswer>
    </aside>
  )
}
