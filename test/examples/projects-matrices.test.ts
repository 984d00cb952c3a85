/** The matrices of examples/projects: each cell holds on a server, and each line of the policy is noticed by some cell. */
import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import { judgeMutant, makeMutants } from '../../src/tools/matrix/mutate/judge-mutant.ts'
import { statementsOf } from '../../src/tools/matrix/predict/expectations-met.ts'
import { evaluatePolicy } from '../../src/tools/matrix/predict/predict.ts'
import { readPredictedSuite } from '../../src/tools/matrix/predict/suite.ts'
import { findMatrixFiles } from '../../src/tools/matrix/read/read-matrices.ts'
import type { Result } from '../../src/tools/matrix/run/result.ts'
import { testMatrices } from '../../src/tools/matrix/run/trials.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { HERE, told } from '../matrix/told.ts'
import { withRules } from '../policy-text.ts'
import { unguardedPolicies } from './unguarded.ts'

const pathOf = (name: string) => new URL(`../../examples/projects/${name}`, import.meta.url).pathname
const FOLDERS = { policies: pathOf('policies'), schemas: pathOf('schemas') }
const { matrices } = await findMatrixFiles([pathOf('matrices')])

describe('the matrices of examples/projects', () => {
  const results: Result[] = []
  before(async () => {
    results.push(...(await ask(matrices, FOLDERS.policies)))
  })

  for (const file of matrices) {
    it(`hold on a server: ${file.replace(/.*\//, '')}`, () => {
      const about = results.filter(({ place }) => place.file === file)
      expect(about.length).to.be.greaterThan(15)
      expect(told(about)).to.deep.equal([])
    })
  }

  it('would fail on a server without the wall', async () => {
    const policies = await unguardedPolicies()
    const rules = await readFile(join(policies, 'policy.csv'), 'utf8')
    await writeFile(join(policies, 'policy.csv'), rules.replace(/^p, member, +\*, \*, !tenant.*\n/m, ''))
    const failed = told(await ask([pathOf('matrices/folders.csv')], policies))
    await cp(pathOf('policies/guarantees.yaml'), join(policies, 'guarantees.yaml'))
    const started = ask([pathOf('matrices/folders.csv')], policies).catch(String)
    expect(await started).to.contain('this breaks the guarantee `nobody outside of a tenant reads its tasks`')
    await removeFolder(policies)
    expect(failed.map((line) => line.replace(/;.*/, ''))).to.include(
      'GET /folders/{id} (inherited+inside+nested+owner+reader, the wall) as member is 403: expected 403, got 200',
    )
  })

  it('would fail on a server whose members list the tasks of everybody', async () => {
    const policies = await unguardedPolicies()
    const rules = await readFile(join(policies, 'policy.csv'), 'utf8')
    await writeFile(join(policies, 'policy.csv'), withRules(rules, widening('tasks')))
    const failed = told(await ask([pathOf('matrices/tasks.csv')], policies))
    await removeFolder(policies)
    expect(failed.map((line) => line.replace(/\d+ objects? that (?:is|are)|`[0-9a-f-]{36}`|;.*/g, '…'))).to.deep.equal([
      'GET /tasks (none) as member is 200 [team&tenant]: the list shows … not `[team&tenant]`, for example …',
      'GET /tasks (none, machine, with an API key) as member is 200 [team&tenant]: the list shows … not `[team&tenant]`, for example …',
    ])
  })

  it('notice every list of members that is widened', async () => {
    const suite = await readPredictedSuite({ ...FOLDERS, matrices: [pathOf('matrices')] }, Date.now())
    const { met } = await statementsOf(suite)
    const resources = ['tenants', 'users', 'projects', 'memberships', 'tasks', 'comments', 'folders']
    const notices = async (wall: string, line: string) => {
      const text = withRules(suite.files['policy.csv'].text.replace(wall, ''), line)
      const files = { ...suite.files, 'policy.csv': { ...suite.files['policy.csv'], text } }
      const widened = evaluatePolicy(parsePolicy(files, suite.resources), suite.resources, suite.predictor.now)
      for (const one of met) if (one.isList && !(await one.holds(widened))) return true
      return false
    }
    const within = resources.filter((resource) => !['tenants', 'users'].includes(resource))
    for (const resource of within) expect(await notices('', widening(resource)), resource).to.equal(true)
    const wall = 'p, member,   *, *, !tenant, *, deny\n'
    for (const resource of resources) expect(await notices(wall, widening(resource)), resource).to.equal(true)
    // A negative control: this line widens nothing.
    expect(await notices('', 'p, member, tasks, list, team, *, allow\n')).to.equal(false)
  })

  it('notice every line of the policy that is lost', async () => {
    const suite = await readPredictedSuite({ ...FOLDERS, matrices: [pathOf('matrices')] }, Date.now())
    const { met, unmet } = await statementsOf(suite)
    expect(unmet, 'cells that the policy itself answers otherwise').to.equal(0)
    const only = new Set(['drop-rule', 'drop-deny'] as const)
    const mutants = makeMutants(suite, suite.policy, { only, valuesOf: () => [] })
    expect(mutants).to.have.length(suite.policy.rules.length)
    const judged = await Array.fromAsync(mutants, (mutant) => judgeMutant({ ...suite, stated: met }, mutant))
    expect(mutants.filter((_, i) => judged[i]?.verdict.kind !== 'killed')).to.deep.equal([])
  })
})

function widening(resource: string): string {
  return `p, member, ${resource}, list, any, *, allow\n`
}

async function ask(files: readonly string[], policies: string): Promise<readonly Result[]> {
  const { results } = await testMatrices([...files], {
    ...HERE,
    ...FOLDERS,
    policies,
  })
  return results
}
