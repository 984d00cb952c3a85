/** A whole decision in three published applications, in process, beside engines that people would take. */
import { SCENARIOS } from '../engines/scenarios/scenario.ts'
import type { ScenarioFigures, ScenarioSettings } from '../engines/time-scenarios.ts'
import { measureApart } from '../machine/measure-apart.ts'
import type { PartResult, Row, Sample } from '../report/result.ts'
import type { Bench } from './part.ts'

export const scenarios = { id: 'scenarios', measure }

const PROGRAM = new URL('../engines/time-scenarios.ts', import.meta.url).pathname

/** Cedar's figures are for 5 to 50 of each kind. */
const SIZES = [10, 50]
const SMALL = SIZES.slice(0, 1)

async function measure(bench: Bench): Promise<PartResult> {
  const { small, rounds, seconds } = bench.settings
  const rows: Row[] = []
  for (const { name } of SCENARIOS) {
    for (const entities of small ? SMALL : SIZES) {
      const subject = `${name}, ${entities} of each kind`
      bench.tell(subject)
      const peers = bench.peers !== undefined
      const settings: ScenarioSettings = { scenario: name, entities, rounds, milliseconds: seconds * 250, peers }
      rows.push({ subject, quantities: quantitiesOf(await measureApart<ScenarioFigures>(PROGRAM, settings)) })
    }
  }
  return {
    id: scenarios.id,
    title: 'Decisions in published scenarios',
    method:
      'Microseconds of CPU for one decision, in applications after those that Cedar publishes its figures for: users in ' +
      'groups, grants to both on lists, repositories or documents, and on the organizations or folders that they are ' +
      'in. Of each pair, a tenth is connected. Half of the questions are refused, and every answer is checked. Ours is ' +
      'the whole decision of the server, with the facts of its record; stored objects are in memory, in place of a ' +
      'database. Cedar gets the entities of each question as JSON, because its package for JavaScript keeps none; its ' +
      'library for Rust has no such cost. casbin has a line for each grant and action.',
    rows,
    targets: [],
    leftOut: [
      ...bench.withoutPeers,
      'Cerbos: its package on npm is a server or needs a bundle of its vendor, and it has no relations between objects',
    ],
  }
}

function quantitiesOf(figures: ScenarioFigures): Readonly<Record<string, Sample>> {
  return Object.fromEntries(Object.entries(figures).map(([engine, micros]) => [`${engine} us`, micros]))
}
