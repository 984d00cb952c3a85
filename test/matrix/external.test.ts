/** Matrices state answers of this server, so a resource that is kept elsewhere leaves no gap in them. */
import { cp, mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { measureCoverage, partsOf } from '../../src/tools/matrix/coverage/coverage.ts'
import { makeMutants } from '../../src/tools/matrix/mutate/judge-mutant.ts'
import { loadSuite, predictedSuite } from '../../src/tools/matrix/predict/suite.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { filesOf } from '../policy/render.ts'

const ROOT = new URL('../..', import.meta.url).pathname

const TOOLS = {
  type: 'object',
  'x-resource': { external: true, routes: [{ path: '/tools/{id}/run', methods: ['POST'], action: 'call' }] },
  properties: { id: { type: 'string', readOnly: true }, team: { type: 'string' } },
  additionalProperties: false,
}

const OWN = ['notes: { relations: { owner: ownerId } }\n', 'notes: { short: [id] }\n'] as const
const RULES = 'p, everyone, notes, read, owner, short, allow\n'

describe('matrices beside a resource that is kept elsewhere', () => {
  let folder: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-external-'))
  })
  after(() => removeFolder(folder))

  const suiteOf = async (name: string, schemas: object, [ownership, views]: readonly string[], rules: string) => {
    const [policies, resources] = [join(folder, name, 'policies'), join(folder, name, 'schemas')]
    for (const made of [policies, resources]) await mkdir(made, { recursive: true })
    await cp(join(ROOT, 'schemas/notes.json'), join(resources, 'notes.json'))
    for (const [file, schema] of Object.entries(schemas)) await writeFile(join(resources, file), JSON.stringify(schema))
    const files = filesOf({ 'ownership.yaml': ownership ?? '', 'views.yaml': views ?? '', 'policy.csv': rules })
    for (const [file, { text }] of Object.entries(files)) await writeFile(join(policies, file), text)
    await writeFile(join(policies, 'blocked.txt'), '')
    const suite = predictedSuite(await loadSuite({ policies, schemas: resources }, []), 0)
    return { ...suite, expectations: [], cases: [] }
  }
  const partsAndMutants = async (suite: Awaited<ReturnType<typeof suiteOf>>) => ({
    parts: partsOf(await measureCoverage(suite)).map(({ place }) => place),
    mutants: makeMutants(suite, suite.policy, { only: undefined, valuesOf: () => [] }).map(({ change }) => change),
  })

  it('have the parts and the mistakes that they have without it', async () => {
    const without = await suiteOf('without', {}, OWN, RULES)
    const [ownership, views] = [
      `${OWN[0]}tools: { relations: { mine: { field: team, equals: subject.team } } }\n`,
      `${OWN[1]}tools: { label: [id] }\n`,
    ]
    const rules = `${RULES}p, everyone, tools, call, mine, label, allow\n`
    const beside = await suiteOf('beside', { 'tools.json': TOOLS }, [ownership, views], rules)
    expect(beside.policy.rules).to.have.length(2)
    const known = await partsAndMutants(without)
    expect(await partsAndMutants(beside)).to.deep.equal(known)
    expect(known.mutants.length).to.be.greaterThan(3)
  })
})
