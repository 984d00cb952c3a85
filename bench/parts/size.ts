/** Cost against size: rules, resources, objects, callers and memberships, each alone, with all else as usual. */
import type { PartResult, Row, Target } from '../report/result.ts'
import { ratios } from '../report/statistics.ts'
import type { Bench } from './part.ts'
import { byCallers, byMemberships } from './sizes/asked.ts'
import { byObjects, byResources, byRules, GET_CPU } from './sizes/served.ts'

export const size = { id: 'size', measure }

/** Of the rounds of other parts: there are many points, and CPU time needs less of it than latency. */
const SHARE_OF_SECONDS = 0.4

async function measure(bench: Bench): Promise<PartResult> {
  const { settings } = bench
  const shorter = { ...bench, settings: { ...settings, seconds: settings.seconds * SHARE_OF_SECONDS } }
  const rows: Row[] = []
  const leftOut: string[] = []
  for (const [of, points] of Object.entries({ byRules, byResources, byObjects, byCallers, byMemberships })) {
    try {
      rows.push(...(await points(shorter)))
    } catch (error) {
      // The other curves are measured without it.
      leftOut.push(`${of}: ${(error as Error).message}`)
    }
  }
  if (rows.length === 0) throw new Error(leftOut.join('; '))
  return {
    id: size.id,
    title: 'Cost against size',
    method:
      'One size grows, and the others stay as usual (10 rules, 5 resources, 10,000 notes, one caller; 50 resources where rules grow); CPU time of the ' +
      'guarded GET and of a list of 50 at 32 connections, of a decision in process, time from the start of the process to ' +
      'its first answer, and memory under load. Callers ask in turn, each with their own token. Memberships are those of ' +
      'the caller, out of 1,000 projects with 100,000 tasks. The exponent is that of a power law: 0 is no growth, 1 is ' +
      'ten times the cost at ten times the size.',
    rows,
    targets: targetsOf(rows),
    leftOut,
  }
}

/** The largest of each beside the smallest. */
function targetsOf(rows: readonly Row[]): readonly Target[] {
  return ['rules', 'resources', 'objects'].flatMap((of) => {
    const own = rows.filter((row) => row.size?.of === of && row.quantities[GET_CPU])
    const [first, last] = [own[0], own.at(-1)]
    if (!first || !last || first === last) return []
    const what = `CPU of a GET, ${first.subject} / ${last.subject}`
    return [{ what, atLeast: 0.95, values: ratios(GET_CPU, first, last) }]
  })
}
