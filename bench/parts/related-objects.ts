/** Reads that are decided through other objects: one task, and lists of 50 tasks, beside those of an owner. */
import { ours } from '../contenders.ts'
import type { RelatedShape, RelatedTarget } from '../fixture/related.ts'
import type { Requests } from '../machine/load.ts'
import type { Server } from '../machine/server.ts'
import type { Row, Target } from '../report/result.ts'
import { ratios } from '../report/statistics.ts'
import { type Asked, measureRounds, withServers } from '../rounds.ts'
import type { Bench } from './part.ts'

const USUAL: RelatedShape = { tasks: 1_000_000, projects: 10_000 }
/** Priority goes with the project (docs/decisions/0091). */
const IN_ORDER: RelatedShape = { tasks: 100_000, projects: 1000 }
const SMALL: RelatedShape = { tasks: 1000, projects: 100 }

const READERS = 32

const OWNED = 'GET of an own task'
const ONE_STEP = 'GET through one related object'
const TWO_STEPS = 'GET through two related objects'
const LIST_OWNED = 'list of 50 own tasks'
const LIST_MEMBER = 'list of 50 by 10 memberships'
const LIST_LATE = 'list of 50 by the last tenth of the projects in its order, 1 connection'
const LIST_STRANGER = 'list by no membership, 1 connection'

export const RELATED_METHOD =
  'Tasks: 1,000,000 of 10,000 projects with 100,000 memberships; the caller owns 10,000, and leads and is a member of 10 ' +
  'projects. The last tenth in an order: 100,000 tasks of 1,000 projects, sorted by a number that goes with the project.' +
  ' One related object is the project with its lead; two are the project and a membership.'

export async function measureRelated(bench: Bench): Promise<readonly Row[]> {
  const prepared = await bench.fixtures.related(bench.settings.small ? SMALL : USUAL)
  const inOrder = await bench.fixtures.related(bench.settings.small ? SMALL : IN_ORDER)
  const servers = [ours('related objects', prepared), ours('related objects in order', inOrder)] as const
  return withServers(servers, ([server, other]) => {
    if (!server || !other) throw new Error('a server is not there')
    const late = list(inOrder.target.late, { connections: 1, query: 'limit=50&sort=-priority' })
    return measureRounds(bench, [
      ...asked(server, prepared.target),
      { subject: LIST_LATE, server: other, requests: late },
    ])
  })
}

function asked(server: Server, { token, ids, lead, member, stranger }: RelatedTarget): readonly Asked[] {
  const get = (reader: { readonly token: string; readonly ids: RelatedTarget['ids'] }): Requests => ({
    method: 'GET',
    paths: reader.ids.map((id) => `/api/tasks/${id}`),
    token: reader.token,
    connections: READERS,
  })
  return [
    { subject: OWNED, server, requests: get({ token, ids }) },
    { subject: ONE_STEP, server, requests: get(lead) },
    { subject: TWO_STEPS, server, requests: get(member) },
    { subject: LIST_OWNED, server, requests: list(token) },
    { subject: LIST_MEMBER, server, requests: list(member.token) },
    { subject: LIST_STRANGER, server, requests: list(stranger, { connections: 1 }) },
  ]
}

function list(token: string, { connections = READERS, query = 'limit=50' } = {}): Requests {
  return { method: 'GET', paths: [`/api/tasks?${query}`], token, connections }
}

export function relatedTargets(rows: readonly Row[]): readonly Target[] {
  const row = (subject: string) => rows.find((one) => one.subject === subject)
  const cpu = (over: string) => ratios('CPU us/req', row(over), row(OWNED))
  return [
    { what: 'CPU of a GET through one related object / own task', atMost: 1.5, values: cpu(ONE_STEP) },
    { what: 'CPU of a GET through two related objects / own task', atMost: 2, values: cpu(TWO_STEPS) },
    {
      what: 'req/s of list of 50 by 10 memberships / own tasks',
      atLeast: 0.2,
      values: ratios('req/s', row(LIST_MEMBER), row(LIST_OWNED)),
    },
    {
      what: 'p99 ms of list by the last tenth of the projects in its order',
      atMost: 100,
      values: row(LIST_LATE)?.quantities['p99 ms'] ?? [],
    },
    { what: 'p99 ms of list by no membership', atMost: 5, values: row(LIST_STRANGER)?.quantities['p99 ms'] ?? [] },
  ]
}
