/** A process of its own that times engines side by side: settings as JSON in its argument, figures as JSON on stdout. */
import { median } from '../report/statistics.ts'
import { setUpCasbin } from './casbin.ts'
import { setUpCasl } from './casl.ts'
import { setUpCedar } from './cedar.ts'
import { setUpCerbos } from './cerbos.ts'
import { type Asked, type Engine, makeQuestions, makeRules, type SetUp } from './questions.ts'
import { setup } from './sallyport.ts'

export interface DecisionSettings {
  readonly rules: number
  readonly resources: number
  readonly rounds: number
  /** Of asking one engine in one round. */
  readonly milliseconds: number
  /** Whether others than ours are measured. */
  readonly others: boolean
  /** Whether engines are measured that need the packages of the peers. */
  readonly peers: boolean
  /** Also under more rules than an engine is usually measured with. */
  readonly patient?: boolean
  /** `cpu`: the time of this thread's CPU, which other programs don't lengthen; for engines in this process. */
  readonly clock?: 'cpu'
}

export interface DecisionFigures {
  /** By engine. */
  readonly engines: Readonly<Record<string, EngineFigures>>
  /** Engines that could not be measured, and why. */
  readonly leftOut: readonly string[]
}

interface EngineFigures {
  readonly setUpMs: number
  /** A value a round. */
  readonly micros: readonly number[]
}

interface Candidate {
  readonly setUp: SetUp
  /** Beyond, one question takes an engine that looks at every rule so long that nothing more is learned. */
  readonly mostRules?: number
}

const OURS: Readonly<Record<string, Candidate>> = { ours: { setUp: setup } }
const OTHERS: Readonly<Record<string, Candidate>> = { 'casbin enforceSync': { setUp: setUpCasbin, mostRules: 10_000 } }
const PEERS: Readonly<Record<string, Candidate>> = {
  'CASL, ability kept': { setUp: setUpCasl },
  'Cedar, policies kept': { setUp: setUpCedar, mostRules: 2500 },
  'Cerbos, HTTP': { setUp: setUpCerbos, mostRules: 10_000 },
}

interface Measured {
  readonly name: string
  readonly engine: Engine
  readonly setUpMs: number
  readonly micros: number[]
}

const settings: DecisionSettings = JSON.parse(process.argv[2] ?? '{}')
process.stdout.write(JSON.stringify(await timeEngines(settings)))

async function timeEngines({ rules: count, resources, rounds, milliseconds, ...wanted }: DecisionSettings) {
  const rules = makeRules(count, resources)
  const questions = makeQuestions(rules)
  const measured: Measured[] = []
  const leftOut: string[] = []
  for (const [name, { setUp, mostRules = count }] of Object.entries(candidates(wanted))) {
    if (count > mostRules && !wanted.patient) continue
    const began = performance.now()
    let engine: Engine | undefined
    try {
      engine = await setUp(rules)
      const setUpMs = performance.now() - began
      await time(engine, questions, milliseconds)
      measured.push({ name, engine, setUpMs, micros: [] })
    } catch (error) {
      // The others are measured without it.
      leftOut.push(`${name} under ${count} rules: ${(error as Error).message}`)
      await engine?.close?.()
    }
  }
  for (let round = 1; round <= rounds; round++) {
    for (const { engine, micros } of measured) micros.push(await time(engine, questions, milliseconds))
  }
  for (const { engine } of measured) await engine.close?.()
  const engines = Object.fromEntries(measured.map(({ name, setUpMs, micros }) => [name, { setUpMs, micros }]))
  return { engines, leftOut } satisfies DecisionFigures
}

function candidates({ others, peers }: Pick<DecisionSettings, 'others' | 'peers'>) {
  return { ...OURS, ...(others && OTHERS), ...(others && peers && PEERS) }
}

/** Microseconds a decision: the median of passes over all questions. Throws for a wrong answer. */
async function time(engine: Engine, questions: readonly Asked[], milliseconds: number): Promise<number> {
  const passes: number[] = []
  const end = performance.now() + milliseconds
  do {
    const began = micros()
    for (const question of questions) {
      const answer = engine.decide(question)
      if ((typeof answer === 'boolean' ? answer : await answer) !== question.answer)
        throw new Error(`wrong: ${JSON.stringify(question)}`)
    }
    passes.push((micros() - began) / questions.length)
  } while (performance.now() < end)
  return median(passes)
}

function micros(): number {
  if (settings.clock !== 'cpu') return Number(process.hrtime.bigint()) / 1000
  const { user, system } = process.threadCpuUsage()
  return user + system
}
