/** A process of its own that times engines side by side: settings as JSON in its argument, figures as JSON on stdout. */
import { loadPeerPackage } from '../peers.ts'
import { median } from '../report/statistics.ts'
import { setUpCasbin } from './casbin.ts'
import type { Casl } from './casl.ts'
import { setUpCasl } from './casl.ts'
import { type Asked, type Engine, makeQuestions, makeRules, type SetUp } from './questions.ts'
import { setup } from './sallyport.ts'

export interface DecisionSettings {
  readonly rules: number
  readonly resources: number
  readonly rounds: number
  /** Of asking one engine in one round. */
  readonly milliseconds: number
  readonly peers: string | undefined
}

/** By engine. */
export interface DecisionFigures {
  readonly setUpMs: number
  /** A value a round. */
  readonly micros: readonly number[]
}

/** Beyond, one question takes node-casbin so long that nothing more is learned. */
const MOST_RULES_FOR_CASBIN = 10_000

const settings: DecisionSettings = JSON.parse(process.argv[2] ?? '{}')
process.stdout.write(JSON.stringify(await timeEngines(settings)))

async function timeEngines({ rules: count, resources, rounds, milliseconds, peers }: DecisionSettings) {
  const rules = makeRules(count, resources)
  const questions = makeQuestions(rules)
  const engines: {
    readonly name: string
    readonly engine: Engine
    readonly setUpMs: number
    readonly micros: number[]
  }[] = []
  for (const [name, setUp] of await setUps(count, peers)) {
    const began = performance.now()
    const engine = await setUp(rules)
    engines.push({ name, engine, setUpMs: performance.now() - began, micros: [] })
  }
  for (const { engine } of engines) await time(engine, questions, milliseconds)
  for (let round = 1; round <= rounds; round++) {
    for (const { engine, micros } of engines) micros.push(await time(engine, questions, milliseconds))
  }
  return Object.fromEntries(
    engines.map(({ name, setUpMs, micros }) => [name, { setUpMs, micros } satisfies DecisionFigures]),
  )
}

async function setUps(count: number, peers: string | undefined): Promise<ReadonlyMap<string, SetUp>> {
  const found = new Map<string, SetUp>([['ours', setup]])
  if (count <= MOST_RULES_FOR_CASBIN) found.set('casbin enforceSync', setUpCasbin)
  if (peers === undefined) return found
  const casl = (await loadPeerPackage(peers, '@casl/ability')) as Casl
  return found.set('CASL, ability kept', (rules) => setUpCasl(casl, rules))
}

/** Microseconds a decision: the median of passes over all questions. Throws for a wrong answer. */
async function time(engine: Engine, questions: readonly Asked[], milliseconds: number): Promise<number> {
  const passes: number[] = []
  const end = performance.now() + milliseconds
  do {
    const began = process.hrtime.bigint()
    for (const question of questions) {
      const answer = engine.decide(question)
      if ((typeof answer === 'boolean' ? answer : await answer) !== question.answer)
        throw new Error(`wrong: ${JSON.stringify(question)}`)
    }
    passes.push(Number(process.hrtime.bigint() - began) / 1000 / questions.length)
  } while (performance.now() < end)
  return median(passes)
}
