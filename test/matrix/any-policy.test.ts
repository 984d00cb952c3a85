/** Of any policy a matrix is written that is green at once, and what it doesn't notice is named. */

import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { stringify } from 'yaml'
import { compareDecisions } from '../../src/analysis/diff/compare-decisions.ts'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import { surveyCells } from '../../src/tools/matrix/cells/survey.ts'
import { measureCoverage, percentOf } from '../../src/tools/matrix/coverage/coverage.ts'
import { CALLER } from '../../src/tools/matrix/fixture/samples.ts'
import { storeNew } from '../../src/tools/matrix/init/write-matrix.ts'
import { tryMutant } from '../../src/tools/matrix/mutate/judge-mutant.ts'
import { mutateRules, vocabularyOf } from '../../src/tools/matrix/mutate/mutants.ts'
import { witnessIn } from '../../src/tools/matrix/mutate/witness.ts'
import { statementsOf } from '../../src/tools/matrix/predict/expectations-met.ts'
import { evaluatePolicy } from '../../src/tools/matrix/predict/predict.ts'
import type { PredictedSuite } from '../../src/tools/matrix/predict/suite.ts'
import { testMatrices } from '../../src/tools/matrix/run/trials.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { withRules } from '../policy-text.ts'
import { drawing, runs } from '../runs.ts'
import { RELATIONS } from './predict/kinds.ts'
import { randomPolicyFiles } from './predict/random-policies.ts'
import { suiteOfFiles, writtenFor } from './predict/suites.ts'
import { HERE } from './told.ts'

type Files = Readonly<Record<string, string>>

/** All that a matrix of it could get wrong at once. */
const AWKWARD: Files = {
  'roles.yaml': 'clerk: { description: c }\nagent: { description: a }\n',
  'ownership.yaml': `
things:
  relations:
    owner: members
    mine: members
    team: { field: team, equals: subject.team }
    lit: { field: open, equals: subject.lit }
    draft: { field: status, in: [draft] }
    shipped: { field: status, in: [shipped] }
    round: { field: shape, in: [round] }
    square: { field: shape, in: [square] }
users:
  relations:
    owner: id
    mate: { field: team, equals: subject.team }
    peer: { field: level, equals: subject.level }
`,
  'views.yaml': 'things: { bare: [status, title], brief: [members, title, status] }\nusers: { card: [team] }\n',
  'policy.csv': `p, clerk, things, list, any, bare, allow
p, clerk, things, read|create|replace|update, owner, brief, allow
p, clerk, things, read, team, *, allow
p, agent, things, read|update|delete, shipped, *, allow
p, clerk, things, delete, any, *, deny
p, agent, things, update, owner, *, deny
p, user:zoe, things, list|read, owner, *, allow
p, clerk, users, list|read, mate, *, allow
p, agent, users, read|update, owner, card, allow
p, everyone, users, read, owner, card, allow
`,
}

/** Writes the matrix of a policy beside it, and asks a server: what isn't green. */
async function initAndTest(files: Files) {
  const { folder, paths, matrix, suite } = await suiteOfFiles(files)
  const texts = await writtenFor(await suite())
  await storeNew(matrix, texts)
  const run = await testMatrices([matrix], { ...HERE, ...paths })
  const red = run.results.filter(({ outcome }) => outcome !== 'passed').map(({ title, why }) => `${title}: ${why}`)
  return { red, asked: run.results.length, texts, suite: await suite(), folder }
}

/** Mistakes in rules that change what a route decides: how many a cell notices, and those that nothing tells of. */
async function tryMistakes(suite: PredictedSuite) {
  const { files, resources, evaluated, predictor } = suite
  const coverage = await measureCoverage(suite)
  const { met: stated } = await statementsOf(suite)
  const named = new Set(coverage.mistakes.flatMap(({ place, operators }) => operators.map((one) => `${place} ${one}`)))
  const unneeded = new Set(coverage.rules.filter(({ covered }) => !covered).map(({ place }) => place))
  const uncoveredMutants: string[] = []
  let noticed = 0
  for (const mutant of mutateRules({ files, resources }, vocabularyOf(evaluated.policy))) {
    const tried = await tryMutant({ ...suite, stated }, mutant)
    if (typeof tried === 'string') continue
    const policies = { before: evaluated.policy, after: tried.evaluated.policy }
    const changes = compareDecisions(policies, { resources, now: predictor.now }).filter(({ part }) => part !== 'query')
    const served = changes.some((change) =>
      resources.routes.some(({ resource, endpoints }) => {
        const actions = [...endpoints.values()].map(({ action }) => action)
        return change.resources.includes(resource) && actions.some((action) => change.actions.includes(action))
      }),
    )
    if (!served) continue
    const place = `policy.csv:${mutant.line}`
    const isGone = mutant.operator === 'drop-rule' || mutant.operator === 'drop-deny'
    if (tried.noticed) noticed++
    else if (!unneeded.has(place) && (isGone || !named.has(`${place} ${mutant.operator}`))) {
      uncoveredMutants.push(`${mutant.operator} ${mutant.change}`)
    }
  }
  return { coverage, noticed, named: named.size, uncoveredMutants }
}

/** Lists that are widened for one role, where some row could show it: how many a cell notices, and the others. */
async function widenLists({ files, resources, evaluated, predictor, ...suite }: PredictedSuite) {
  const { met } = await statementsOf({ files, resources, evaluated, predictor, ...suite })
  const [noticed, unnoticed]: [string[], string[]] = [[], []]
  const lists = [...predictor.routeMethods.values()].filter(({ endpoint }) => endpoint.operation === 'list')
  for (const { resource, method, route } of lists) {
    for (const role of evaluated.policy.roles.keys()) {
      const line = `p, ${role}, ${resource.name}, list, any, *, allow\n`
      const text = withRules(files['policy.csv'].text, line)
      const widened = parsePolicy({ ...files, 'policy.csv': { ...files['policy.csv'], text } }, resources)
      const after = evaluatePolicy(widened, resources, predictor.now)
      const cell = {
        method,
        path: route.path,
        object: { kind: 'none' },
        column: { kind: 'roles', roles: [role] },
      } as const
      if ((await witnessIn(predictor, { before: evaluated, after }, cell))?.kind !== 'cell') continue
      const held = await Array.fromAsync(met, (one) => !one.isList || one.holds(after))
      const some = held.includes(false) ? noticed : unnoticed
      some.push(line)
    }
  }
  return { noticed, unnoticed }
}

describe('the matrix of any policy', () => {
  let awkward: Awaited<ReturnType<typeof initAndTest>>
  before(async () => {
    awkward = await initAndTest(AWKWARD)
  })
  after(() => removeFolder(awkward.folder))

  it('is green at once, with callers and objects of every kind', async () => {
    const { red, texts, suite } = awkward
    expect(red).to.deep.equal([])
    const [things = '', users = ''] = ['things.csv', 'users.csv'].map(
      (one) => texts.find(({ name }) => name === one)?.text,
    )
    expect(things.split('\n')[0]).to.equal(
      'method,path,object,becomes,body,anonymous,clerk,agent,everyone,user:zoe,agent+clerk',
    )
    // An owner that is another relation too, and shapes that leave no object without one.
    expect(things).to.match(/^GET\|HEAD,\/things\/\{id\},mine\+owner\+round,/m)
    expect(users).to.match(/^GET\|HEAD,\/users\/\{id\},mate\+owner\+peer,/m)
    for (const { name, text } of texts) if (name.startsWith('bodies/')) expect(text).to.not.include(CALLER)
    const { coverage, uncoveredMutants, noticed } = await tryMistakes(suite)
    expect(percentOf(coverage.cells)).to.equal(100)
    expect(coverage.unasked).to.deep.equal([])
    expect(uncoveredMutants).to.deep.equal([])
    expect(noticed).to.be.greaterThan(60)
  })

  it('is green at once where an object can have few of the values of a unique field', async () => {
    const { red, texts } = await initAndTest({
      ...AWKWARD,
      'ownership.yaml': 'users: { relations: { known: { field: email, in: [b@example.com] } } }\n',
      'views.yaml': 'users: { rank: [level] }\n',
      'policy.csv': 'p, clerk, users, read, any, *, allow\np, clerk, users, update, any, rank, allow\n',
    })
    expect(red).to.deep.equal([])
    // The body has another address than any object, so it changes a field that isn't granted.
    expect(texts.find(({ name }) => name === 'users.csv')?.text).to.match(/^PATCH,\/users\/{id},\S+,,401,403/m)
  })

  it('is green at once where rules name objects by a unique value, which one of them can have at a time', async () => {
    const { red, asked, suite } = await initAndTest({
      ...AWKWARD,
      'ownership.yaml': 'users: { relations: { known: { field: email, in: [b@example.com, c@example.com] } } }\n',
      'views.yaml': 'users: { rank: [level] }\n',
      'policy.csv':
        'p, clerk, users, list|read|update|delete, known, *, allow\np, agent, users, read, any, *, allow\np, agent, users, read, known, rank, deny\n',
    })
    expect(red).to.deep.equal([])
    expect(asked).to.be.greaterThan(30)
    expect((await surveyCells(suite)).unasked).to.deep.equal([])
  })

  it('is green at once where an attribute is the id of an object, or a unique value', async () => {
    const { red, texts } = await initAndTest({
      ...AWKWARD,
      'ownership.yaml': `things: { relations: { hers: { field: id, equals: subject.boss } } }
users: { relations: { named: { field: email, equals: subject.boss } } }
`,
      'conditions.yaml': 'machine: { credential: [api-key] }\nfresh: { signedIn: { within: 10m } }\n',
      'views.yaml': '{}\n',
      'policy.csv': `p, clerk, things, list|read|delete, hers+machine, *, allow
p, agent, things, delete, !hers+fresh, *, allow
p, agent, users, list|read, named, *, allow
`,
    })
    expect(red).to.deep.equal([])
    const things = texts.find(({ name }) => name === 'things.csv')?.text
    expect(things).to.match(/^DELETE,\/things\/\{id\},hers,machine,-,204,/m)
    // An API key proves no sign-in.
    expect(things).to.not.match(/fresh\+machine/)
  })

  it('is green at once where a caller who has one attribute could have others that relations compare', async () => {
    const { red, texts, suite } = await initAndTest({
      ...AWKWARD,
      'ownership.yaml': `things:
  relations:
    second: { field: spare, equals: subject.team }
    some: { field: spare, equals: subject.teams }
    level: { field: grade, equals: subject.level }
    lit: { field: open, equals: subject.lit }
`,
      'views.yaml': '{}\n',
      'policy.csv': `p, agent, things, update, second, *, allow
p, agent, things, update|delete, any, *, allow
p, clerk, things, read, some, *, allow
p, clerk, things, read, level, *, allow
p, clerk, things, read, lit, *, allow
`,
    })
    expect(red).to.deep.equal([])
    expect((await surveyCells(suite)).unasked).to.deep.equal([])
    const things = texts.find(({ name }) => name === 'things.csv')?.text
    expect(things).to.match(/^PATCH,\/things\/\{id\},second,/m)
    for (const one of ['some', 'level', 'lit', 'level\\+some', 'level\\+lit\\+some'])
      expect(things).to.match(new RegExp(`^GET\\|HEAD,/things/\\{id\\},${one},`, 'm'))
  })

  it('is green at once, and names what it does not notice, of random policies', async () => {
    let [noticed, named, widened] = [0, 0, 0]
    await drawing(
      () =>
        fc.assert(
          fc.asyncProperty(randomPolicyFiles, async (files) => {
            const { red, asked, suite, folder } = await initAndTest(files)
            expect(red).to.deep.equal([])
            expect(asked).to.be.greaterThan(50)
            const tried = await tryMistakes(suite)
            expect(percentOf(tried.coverage.cells)).to.equal(100)
            expect(tried.uncoveredMutants).to.deep.equal([])
            const lists = await widenLists(suite)
            expect(lists.unnoticed).to.deep.equal([])
            widened += lists.noticed.length
            noticed += tried.noticed
            named += tried.named
            await removeFolder(folder)
          }),
          { numRuns: runs(8, 1) },
        ),
      () => {
        expect(noticed).to.be.greaterThan(named)
        expect(widened).to.be.greaterThan(0)
      },
    )
  })

  it('lists that there are more ways to relate than it has rows for', async () => {
    const names = [
      'owner',
      'member',
      'guest',
      'red',
      'draft',
      'shipped',
      'round',
      'low',
      'shut',
      'fresh',
      'named',
      'second',
    ]
    const relations = Object.fromEntries(names.map((name) => [name, RELATIONS.things[name]]))
    const files = (some: readonly string[]) => ({
      'roles.yaml': 'clerk: { description: c }\n',
      'ownership.yaml': stringify({ things: { relations } }),
      'policy.csv': some.map((name) => `p, clerk, things, delete, ${name}, *, allow\n`).join(''),
    })
    const further = async (some: readonly string[]) => {
      const { folder, suite } = await suiteOfFiles(files(some))
      const { unasked } = await surveyCells(await suite())
      await removeFolder(folder)
      return unasked.map(({ method, object, why }) => `${method} ${object}: ${why}`)
    }
    expect(await further(names.slice(0, 4))).to.deep.equal([])
    expect(await further(names)).to.deep.equal([
      'DELETE further ways: the rules name so many relations that only the first 1024 sets of relations are tried',
    ])
  })

  it('turns red when one rule is another', async () => {
    const { suite, folder } = awkward
    const policy = join(folder, 'policies/policy.csv')
    await writeFile(policy, (await readFile(policy, 'utf8')).replace('shipped, *, allow', 'any, *, allow'))
    const folders = { policies: join(folder, 'policies'), schemas: join(folder, 'schemas') }
    const run = await testMatrices([join(folder, 'matrices')], {
      ...HERE,
      ...folders,
      filter: { roles: [], resources: ['things'] },
    })
    expect(run.results.filter(({ outcome }) => outcome === 'failed')).to.not.be.empty
    expect(suite.expectations.length).to.be.greaterThan(100)
  })
})
