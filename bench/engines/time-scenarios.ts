/** A process of its own that times engines on the scenarios: settings as JSON in its argument, figures as JSON on stdout. */
import { median } from '../report/statistics.ts'
import { setUpCasbinScenario } from './scenarios/casbin.ts'
import { setUpCedarScenario } from './scenarios/cedar.ts'
import { setUpSallyportScenario } from './scenarios/sallyport.ts'
import {
  type AskedOfScenario,
  makeScenarioQuestions,
  makeWorld,
  SCENARIOS,
  type ScenarioEngine,
  type SetUpScenario,
} from './scenarios/scenario.ts'

export interface ScenarioSettings {
  readonly scenario: string
  /** Of users, groups, things, and what they are in. */
  readonly entities: number
  readonly rounds: number
  /** Of asking one engine in one round. */
  readonly milliseconds: number
  /** Whether engines are measured that need the packages of the peers. */
  readonly peers: boolean
}

/** By engine, microseconds of a decision: a value a round. */
export type ScenarioFigures = Readonly<Record<string, readonly number[]>>

const QUESTIONS = 200

const ENGINES: Readonly<Record<string, SetUpScenario>> = {
  ours: setUpSallyportScenario,
  'casbin enforceSync': setUpCasbinScenario,
}
const PEERS: Readonly<Record<string, SetUpScenario>> = { 'Cedar, policies kept': setUpCedarScenario }

const settings: ScenarioSettings = JSON.parse(process.argv[2] ?? '{}')
process.stdout.write(JSON.stringify(await timeScenario(settings)))

async function timeScenario({ scenario: name, entities, rounds, milliseconds, peers }: ScenarioSettings) {
  const scenario = SCENARIOS.find((one) => one.name === name)
  if (!scenario) throw new Error(`no scenario is called ${name}`)
  const world = makeWorld(scenario, entities)
  const questions = makeScenarioQuestions(world, QUESTIONS)
  const engines: [string, ScenarioEngine, number[]][] = []
  for (const [engine, setUp] of Object.entries({ ...ENGINES, ...(peers && PEERS) })) {
    engines.push([engine, await setUp(world), []])
  }
  for (const [, engine] of engines) time(engine, questions, milliseconds)
  for (let round = 1; round <= rounds; round++) {
    for (const [, engine, micros] of engines) micros.push(time(engine, questions, milliseconds))
  }
  return Object.fromEntries(engines.map(([engine, , micros]) => [engine, micros])) satisfies ScenarioFigures
}

/** The median of passes over all questions, by the CPU, which counts whole milliseconds. Throws for a wrong answer. */
function time(engine: ScenarioEngine, questions: readonly AskedOfScenario[], milliseconds: number): number {
  const passes: number[] = []
  const end = performance.now() + milliseconds
  do {
    const began = process.threadCpuUsage()
    for (const question of questions) {
      if (engine.decide(question) !== question.answer) throw new Error(`wrong: ${JSON.stringify(question)}`)
    }
    const { user, system } = process.threadCpuUsage(began)
    passes.push((user + system) / questions.length)
  } while (performance.now() < end)
  return median(passes)
}
