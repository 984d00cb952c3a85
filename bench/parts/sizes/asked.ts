/** Who asks grows: how many callers ask in turn, and of how many projects the caller is a member. */
import { ours } from '../../contenders.ts'
import type { CallersTarget } from '../../fixture/callers.ts'
import type { Requests } from '../../machine/load.ts'
import type { Server } from '../../machine/server.ts'
import type { Row } from '../../report/result.ts'
import { measureRounds, withServers } from '../../rounds.ts'
import type { Bench } from '../part.ts'
import { GET_CPU, LIST_CPU, nameOf } from './served.ts'

const CONNECTIONS = 32

export async function byCallers(bench: Bench): Promise<readonly Row[]> {
  const counts = bench.settings.small ? [1, 10] : [1, 10, 100, 1000, 10_000]
  const prepared = await bench.fixtures.callers(Math.max(...counts) + 10)
  const asked = counts.map((count) => ({ subject: nameOf('callers', count), requests: getsOf(prepared.target, count) }))
  const rows = await onOne(bench, [ours('callers', prepared)], asked)
  return rows.map(({ subject, quantities }, i) => ({
    subject,
    size: { of: 'callers', count: counts[i] ?? 0 },
    quantities: { [GET_CPU]: quantities['CPU us/req'] ?? [] },
  }))
}

/** Each caller reads their own note; the first user is the admin. */
function getsOf({ path, notes, tokens }: CallersTarget, count: number): Requests {
  return {
    method: 'GET',
    paths: notes.slice(1, count + 1).map((id) => `${path}${id}`),
    tokens: tokens.slice(1, count + 1),
    token: '',
    connections: CONNECTIONS,
  }
}

export async function byMemberships(bench: Bench): Promise<readonly Row[]> {
  const { small } = bench.settings
  const counts = small ? [1, 10] : [1, 10, 100, 1000]
  const shape = small ? { tasks: 1000, projects: 100 } : { tasks: 100_000, projects: 1000 }
  const prepared = await bench.fixtures.related({ ...shape, memberOf: counts })
  const asked = counts.flatMap((count) => {
    const { ids, token } = prepared.target.memberOf.get(count) ?? { ids: [], token: '' }
    const common = { method: 'GET', token, connections: CONNECTIONS }
    const subject = nameOf('memberships', count)
    return [
      { subject, requests: { ...common, paths: ids.map((id) => `/api/tasks/${id}`) } },
      { subject: `${subject}, list`, requests: { ...common, paths: ['/api/tasks?limit=50'] } },
    ]
  })
  const rows = await onOne(bench, [ours('memberships', prepared)], asked)
  return counts.map((count, i) => ({
    subject: nameOf('memberships', count),
    size: { of: 'memberships', count },
    quantities: {
      [GET_CPU]: rows[2 * i]?.quantities['CPU us/req'] ?? [],
      [LIST_CPU]: rows[2 * i + 1]?.quantities['CPU us/req'] ?? [],
    },
  }))
}

interface Question {
  readonly subject: string
  readonly requests: Requests
}

function onOne(
  bench: Bench,
  contenders: Parameters<typeof withServers>[0],
  asked: readonly Question[],
): Promise<readonly Row[]> {
  return withServers(contenders, ([server]: readonly Server[]) => {
    if (!server) throw new Error('the server is not there')
    return measureRounds(
      bench,
      asked.map((one) => ({ ...one, server })),
    )
  })
}
