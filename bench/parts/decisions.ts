/** A decision alone, in process, beside engines that people would take. */
import type { DecisionFigures, DecisionSettings } from '../engines/time-decisions.ts'
import { measureApart } from '../machine/measure-apart.ts'
import type { PartResult, Row, Sample, Target } from '../report/result.ts'
import { ratios } from '../report/statistics.ts'
import type { Bench } from './part.ts'

export const decisions = { id: 'decisions', measure }

const PROGRAM = new URL('../engines/time-decisions.ts', import.meta.url).pathname

interface Size {
  readonly rules: number
  readonly resources: number
}

const SIZES: readonly Size[] = [
  { rules: 10, resources: 2 },
  { rules: 100, resources: 5 },
  { rules: 1000, resources: 5 },
  { rules: 10_000, resources: 5 },
  { rules: 2500, resources: 500 },
  { rules: 10_000, resources: 500 },
  { rules: 100_000, resources: 500 },
]
const SMALL = SIZES.slice(0, 2)

const OURS = 'ours us'
const CASL = 'CASL, ability kept us'

const MOST_MICROS = 0.3
/** Two runs of the same differ by so much. */
const NOISE = 1.1

async function measure(bench: Bench): Promise<PartResult> {
  const { small, rounds, seconds } = bench.settings
  const rows: Row[] = []
  const leftOut = [...bench.withoutPeers]
  for (const size of small ? SMALL : SIZES) {
    const engines = { others: true, peers: bench.peers !== undefined }
    const settings: DecisionSettings = { ...size, ...engines, rounds, milliseconds: seconds * 250 }
    bench.tell(nameOf(size))
    const figures = await measureApart<DecisionFigures>(PROGRAM, settings)
    rows.push(rowOf(size, figures))
    leftOut.push(...figures.leftOut)
  }
  return {
    id: decisions.id,
    title: 'A decision alone',
    method:
      'Microseconds for one question (role, action and ownership) to the code that the server decides with ' +
      '(bench/engines/sallyport.ts): 64 questions over all resources, every answer checked, engines in turn. The others are ' +
      'used in their quickest form; Cerbos is a server of its own, asked over HTTP on the same CPU.',
    rows,
    targets: targetsOf(rows),
    leftOut,
  }
}

function nameOf({ rules, resources }: Size): string {
  return `${rules.toLocaleString('en')} rules, ${resources} resources`
}

function rowOf(size: Size, { engines }: DecisionFigures): Row {
  const micros = Object.entries(engines).map(([name, { micros }]): [string, Sample] => [`${name} us`, micros])
  const setUp: [string, Sample] = ['ours set-up ms', [engines.ours?.setUpMs ?? Number.NaN]]
  return { subject: nameOf(size), quantities: Object.fromEntries([...micros, setUp]) }
}

/** At both ends of the sizes; growth by rules is told apart from growth by resources. */
function targetsOf(rows: readonly Row[]): readonly Target[] {
  const ends = [rows[0], rows.at(-1)].flatMap((row) => (row ? targetsOn(row) : []))
  return [
    ...ends,
    ...growth(rows, { rules: 10_000, resources: 5 }, { rules: 100, resources: 5 }),
    ...growth(rows, { rules: 100_000, resources: 500 }, { rules: 2500, resources: 500 }),
  ]
}

function growth(rows: readonly Row[], large: Size, little: Size): readonly Target[] {
  const row = (size: Size) => rows.find(({ subject }) => subject === nameOf(size))
  const values = ratios(OURS, row(large), row(little))
  const what = `us, ${nameOf(large)} / ${little.rules.toLocaleString('en')} rules`
  return values.length === 0 ? [] : [{ what, atMost: NOISE, values }]
}

function targetsOn({ subject, quantities }: Row): readonly Target[] {
  const mine = quantities[OURS] ?? []
  const casl = quantities[CASL] ?? []
  const toCasl = casl.map((value, i) => (mine[i] ?? Number.NaN) / value)
  const all: readonly Target[] = [
    { what: `us, ${subject}`, atMost: MOST_MICROS, values: mine },
    { what: `us / CASL, ${subject}`, atMost: NOISE, values: toCasl },
  ]
  return all.filter(({ values }) => values.length > 0)
}
