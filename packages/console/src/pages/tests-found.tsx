/** What a run of matrices found, what they say nothing about, and which mistakes in the policy they don't notice. */
import type { ComponentChildren } from 'preact'
import type { Told } from '../api/ask.ts'
import type { Finding, MatrixCoverage, MatrixRun, Mutation, TrialResult } from '../api/types.ts'
import { Command } from '../parts/command.tsx'
import { FindingText } from '../parts/lines.tsx'
import { Prose } from '../parts/prose.tsx'
import { Link } from '../shell/link.tsx'
import { nameIn } from './tests-store.ts'

/** Of a list; the command has all. */
const MOST = 100

interface RunFoundProps {
  readonly run: MatrixRun
  /** Leads to the cell. */
  readonly show?: (place: TrialResult['place']) => void
}

export function RunFound({ run: { matrices, test }, show }: RunFoundProps) {
  const wrong = (test?.result.results ?? []).filter(({ outcome }) => outcome !== 'passed')
  return (
    <>
      <p role="status">{test ? countsText(test.result.counts) : 'Correct the rows first: nothing was asked.'}</p>
      <Some of={matrices.result.faults}>
        {(fault) => (
          <Place key={placeText(fault)} place={fault} show={show}>
            <FindingText finding={fault} />
          </Place>
        )}
      </Some>
      <Some of={wrong}>
        {(result) => (
          <Place key={`${placeText(result.place)} ${result.title}`} place={result.place} show={show}>
            <span class={`key ${result.outcome === 'failed' ? 'wrong' : 'untried'}`}>
              {result.outcome === 'failed' ? 'wrong' : 'not tried'}
            </span>{' '}
            <span class="mono">{placeText(result.place)}</span> {result.title}: <Prose text={result.why ?? ''} />
          </Place>
        )}
      </Some>
      {wrong.slice(0, 1).map(({ explain }) => explain && <Command key={explain} text={explain} />)}
      {test?.result.remarks.map((remark) => (
        <p key={remark}>{remark}</p>
      ))}
      <Command text={(test ?? matrices).command} />
    </>
  )
}

function countsText(counts: Readonly<Record<TrialResult['outcome'], number>>): string {
  const { passed, failed, impossible, 'left-out': leftOut } = counts
  const all = passed + failed + impossible + leftOut
  if (all === passed) return `All ${all} cells are as expected.`
  const told = `${passed} of ${all} cells are as expected, ${failed} wrong, ${impossible} can't be tried`
  // The run ended before their turn.
  return leftOut === 0 ? `${told}.` : `${told}, ${leftOut} not asked about.`
}

const PARTS = ['rules', 'terms', 'results', 'relations', 'views'] as const
const NAMES = {
  rules: 'Rules',
  terms: 'Terms',
  results: 'Right sides',
  relations: 'Relations',
  views: 'Views',
} as const

export function CoverageFound({ command, result }: Told<MatrixCoverage>) {
  const { cells } = result
  return (
    <>
      <p role="status">
        Expectations state {cells.covered} of {cells.total} cells ({Math.floor(cells.percent)} %).
      </p>
      <Some of={cells.missing}>
        {({ method, path, object, column }) => (
          <p key={`${method} ${path} ${object} ${column}`} class="mono">
            {method} {path} ({object}) as {column}
          </p>
        )}
      </Some>
      {PARTS.filter((part) => result[part].missing.length > 0).map((part) => (
        <section key={part}>
          <h3>{NAMES[part]} that no expectation depends on</h3>
          <Some of={result[part].missing}>{partText}</Some>
        </section>
      ))}
      {result.mistakes.length > 0 && <h3>Rules in which a mistake is not noticed</h3>}
      <Some of={result.mistakes}>{partText}</Some>
      <Command text={command} />
    </>
  )
}

function partText({ place, text }: { readonly place: string; readonly text: string }) {
  return (
    <p key={`${place} ${text}`} class="mono">
      <PolicyPlace place={place} /> {text}
    </p>
  )
}

export function MistakesFound({ command, result: { score, killed, survived, notFound, mutants } }: Told<Mutation>) {
  return (
    <>
      <p role="status">
        Expectations notice {killed} of {killed + survived + notFound} mistakes ({Math.floor(score)} %).
      </p>
      <Some of={mutants.filter(({ outcome }) => outcome === 'survived')}>
        {({ operator, place, change, witness }) => (
          <div key={`${place} ${operator} ${change}`} class="rule">
            <PolicyPlace place={place} /> {operator}: <Prose text={change} />
            {witness?.rows !== undefined && <pre>{witness.rows}</pre>}
          </div>
        )}
      </Some>
      <Command text={command} />
    </>
  )
}

/** Leads to the line in the draft. */
function PolicyPlace({ place }: { readonly place: string }) {
  const [file = ''] = place.split(':')
  return (
    <Link to="/draft" query={{ file: nameIn(file) }}>
      {place}
    </Link>
  )
}

interface SomeProps<T> {
  readonly of: readonly T[]
  readonly children: (one: T) => ComponentChildren
}

function Some<T>({ of, children }: SomeProps<T>) {
  return (
    <>
      {of.slice(0, MOST).map(children)}
      {of.length > MOST && <p>And {of.length - MOST} more, which the command shows.</p>}
    </>
  )
}

interface PlaceProps {
  readonly place: Pick<Finding, 'file' | 'line' | 'column'>
  readonly show: RunFoundProps['show']
  readonly children: ComponentChildren
}

function Place({ place, show, children }: PlaceProps) {
  if (!show) return <p>{children}</p>
  return (
    <button type="button" class="finding" onClick={() => show(place)}>
      {children}
    </button>
  )
}

function placeText({ file, line, column }: Pick<Finding, 'file' | 'line' | 'column'>): string {
  return `${nameIn(file)}:${line}:${column}`
}
