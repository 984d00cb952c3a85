/** The engines of the scenarios answer as the plain reading of each world does, or the bench says which answer is wrong. */
import { expect } from 'chai'
import { setUpCasbinScenario } from '../../bench/engines/scenarios/casbin.ts'
import { setUpSallyportScenario } from '../../bench/engines/scenarios/sallyport.ts'
import {
  ACTIONS,
  makeScenarioQuestions,
  makeWorld,
  SCENARIOS,
  type ScenarioWorld,
} from '../../bench/engines/scenarios/scenario.ts'
import { soak } from '../runs.ts'

const ALL_QUESTIONS = 4000

describe('the scenarios of the bench', () => {
  for (const scenario of SCENARIOS) {
    it(`${scenario.name}: ours and casbin answer each question rightly, and the questions have both answers`, async () => {
      for (const count of soak([3, 5, 8, 12, 20], [5, 9])) {
        const world = makeWorld(scenario, count)
        const questions = makeScenarioQuestions(world, ALL_QUESTIONS)
        expect(new Set(questions.map(({ answer }) => answer)).size, `${count}`).to.equal(2)
        for (const setUp of [setUpSallyportScenario, setUpCasbinScenario])
          expect(await wrongIn(world, setUp)).to.equal(0)
      }
    })

    it(`${scenario.name}: an engine that lacks the grants or the groups is found out`, async () => {
      const world = makeWorld(scenario, 12)
      const questions = makeScenarioQuestions(world, ALL_QUESTIONS)
      const groupsOf = new Map([...world.groupsOf.keys()].map((user) => [user, []]))
      for (const other of [
        { ...world, grants: [] },
        { ...world, groupsOf },
      ]) {
        const engine = await setUpSallyportScenario(other)
        expect(questions.filter((one) => engine.decide(one) !== one.answer)).not.to.deep.equal([])
      }
    })
  }

  it('ask about every action', () => {
    for (const scenario of SCENARIOS) {
      const questions = makeScenarioQuestions(makeWorld(scenario, 12), ALL_QUESTIONS)
      expect(new Set(questions.map(({ action }) => action))).to.deep.equal(new Set(ACTIONS))
    }
  })
})

async function wrongIn(world: ScenarioWorld, setUp: typeof setUpSallyportScenario): Promise<number> {
  const engine = await setUp(world)
  return makeScenarioQuestions(world, ALL_QUESTIONS).filter((one) => engine.decide(one) !== one.answer).length
}
