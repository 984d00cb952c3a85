/** Attacks on examples/projects: nobody gets across the walls of tenants and projects; a hole in a wall is found. */

import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { routeMethodsOf } from '../../src/decide/callers-and-routes.ts'
import { conditionHolds } from '../../src/decide/request-conditions/all-conditions.ts'
import { attackAll } from '../../src/tools/matrix/attack/attack-all.ts'
import { mostConditions } from '../../src/tools/matrix/attack/ways.ts'
import { loadSuite, predictedSuite } from '../../src/tools/matrix/predict/suite.ts'
import { openTrialPool, startTrialServer } from '../../src/tools/matrix/target/trial-target.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { HERE } from '../matrix/told.ts'
import { inTurn, soak } from '../runs.ts'
import { unguardedPolicies } from './unguarded.ts'

const pathOf = (name: string) => new URL(`../../examples/projects/${name}`, import.meta.url).pathname
const FOLDERS = { policies: pathOf('policies'), schemas: pathOf('schemas') }

type Edit = readonly [line: RegExp, instead: string]
const NO_WALL: Edit = [/^p, member, +\*, \*, !tenant.*\n/m, '']

describe('attacks on examples/projects', () => {
  it('reach what the policy allows, and no more, across tenants and projects', async () => {
    // In soak each commit has its turn.
    const groups = [['tasks'], ['comments', 'folders', 'memberships'], ['projects', 'tenants', 'users']]
    const attacked = soak(inTurn(groups, 3).flat(), ['memberships'])
    const { results } = await attack(FOLDERS.policies, attacked)
    expect(results.filter(({ outcome }) => outcome !== 'passed')).to.deep.equal([])
    expect(results.length).to.be.greaterThan(50)
    const crossed = results.map(({ attack: { vector, reference, routeMethod } }) =>
      [routeMethod.method, routeMethod.route.path, vector, reference?.field].join(' '),
    )
    const crossings = [
      'GET /tasks/{id} id in path ',
      'POST /tasks parent in body projectId',
      'POST /comments parent in body taskId',
      'PATCH /folders/{id} parent in body parentId',
      'POST /projects attribute in body tenantId',
      'PATCH /users/{id} attribute in body tenant',
      'POST /memberships row for oneself ',
      'PATCH /tasks/{id} relation missing ',
      'GET /tasks parent in query projectId',
      'GET /comments attribute in query tenantId',
    ]
    const met = crossings.filter((one) => attacked.includes(/\w+/.exec(one.split('/')[1] ?? '')?.[0] ?? ''))
    expect(met.length).to.be.greaterThan(0)
    expect(crossed).to.include.members(met)
  })

  it('are predicted with a sign-in that is new enough, however long the run takes', async () => {
    const now = Date.now()
    const { evaluated, resources } = predictedSuite(await loadSuite(FOLDERS, []), now)
    const about = routeMethodsOf(resources).find(
      ({ method, route }) => `${method} ${route.path}` === 'DELETE /tasks/{id}',
    )
    const column = { kind: 'roles', roles: ['member'] } as const
    const fresh = evaluated.policy.conditions.get('fresh')
    if (!about || !fresh) throw new Error('the example has another policy')
    for (const minutes of [0, 6, 600]) {
      const at = now + minutes * 60_000
      const { when, facts } = mostConditions(evaluated, about, column, at)
      expect([when, facts.now, conditionHolds(fresh, facts)], `${minutes}`).to.deep.equal([['fresh'], at, true])
    }
  })

  it('find out a server without the wall, on which people may change their tenant', async () => {
    const found = await holesIn(
      [NO_WALL, [/users, +update, +owner, +personal,/, 'users, update, owner, *,']],
      ['folders', 'users'],
    )
    expect(found).to.include.members([
      'member with other attributes: POST /folders, attribute in body: 403, answered 201',
      'member without tenant: GET /folders/{id}, relation missing: 403, answered 200',
      'member with other attributes: PATCH /users/{id}, attribute in body: 403, answered 200',
    ])
  })

  it('find out a server on which everybody may join a project', async () => {
    const found = await holesIn([[/memberships, create, +lead,/, 'memberships, create, any,']], ['memberships'])
    expect(found).to.include('member with same attributes: POST /memberships, row for oneself: 403, answered 201')
  })

  it("find out a server whose members list what is everybody's, and move comments to tasks of others", async () => {
    const found = await holesIn(
      [
        [/^p, member, comments, +list\|read/m, 'p, member, comments, list, any, *, allow\n$&'],
        [/owner\+team, +\*,/, 'owner, *,'],
        [/^p, everyone, comments, +create, !inside.*\n/m, ''],
      ],
      ['comments'],
    )
    expect(found).to.include.members([
      'member with same attributes: GET /comments, parent in query: 200, answered 200',
      'member with same attributes: POST /comments, parent in body: 403, answered 201',
    ])
  })
})

/** What attacks that expect the policy of the example find on a server with another one. */
async function holesIn(edits: readonly Edit[], resources: readonly string[]): Promise<readonly string[]> {
  const policies = await unguardedPolicies()
  const rules = await readFile(join(policies, 'policy.csv'), 'utf8')
  await writeFile(
    join(policies, 'policy.csv'),
    edits.reduce((text, [line, instead]) => text.replace(line, instead), rules),
  )
  const { results } = await attack(policies, resources)
  await removeFolder(policies)
  return results.flatMap(
    ({ attack: { attacker, attributes, short, routeMethod, vector }, outcome, predicted, status }) => {
      const role = attacker.kind === 'roles' ? attacker.roles.join('+') : attacker.kind
      const who = short ? `${role} without ${short.missing}` : `${role} with ${attributes} attributes`
      const request = `${routeMethod.method} ${routeMethod.route.path}, ${vector}`
      return outcome === 'passed' ? [] : [`${who}: ${request}: ${predicted}, answered ${status}`]
    },
  )
}

function attack(policies: string, resources: readonly string[]) {
  return attackAll({
    ...HERE,
    ...FOLDERS,
    resources,
    openTargets: (suite) => openTrialPool(suite, ({ schemas }, now) => startTrialServer({ policies, schemas }, now)),
  })
}
