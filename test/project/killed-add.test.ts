/** `sallyport add resource`, killed at any moment: the project works, and the same command adds what is missing. */
import { cp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { loadSchemas } from '../../src/resources/load/load-resources.ts'
import { checkPolicy } from '../../src/tools/check/check-policy.ts'
import { readPredictedSuite } from '../../src/tools/matrix/predict/suite.ts'
import { addResource, type ResourcePattern } from '../../src/tools/project/add-resource.ts'
import { makeProject } from '../../src/tools/project/make-project.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { drawing, runs } from '../runs.ts'
import { openWorkshop, ranIn, sumOf, type Workshop } from './projects.ts'

const ROOT = new URL('../..', import.meta.url).pathname
const HOOK = new URL('./signal-at.ts', import.meta.url).href
const STARTS = ['empty', 'tenants'] as const
const PATTERNS: readonly ResourcePattern[] = ['own', 'team', 'public-read']
/** A run has fewer operations on files. */
const LAST_MOMENT = 18

describe('add resource, killed', () => {
  let workshop: Workshop
  const whole = new Map<string, string>()
  const at = (name: string) => join(workshop.folder, name)
  const folders = (project: string) => ({
    policies: join(project, 'policies'),
    schemas: join(project, 'schemas'),
    matrices: join(project, 'test/matrix'),
  })
  const wish = (project: string, pattern: ResourcePattern) => ({
    ...folders(project),
    resource: 'zed',
    pattern,
    role: 'member',
  })

  before(async () => {
    workshop = await openWorkshop()
    for (const start of STARTS) {
      await makeProject(at(start), { name: 'api', demo: false, tenants: start === 'tenants' })
      for (const pattern of PATTERNS) {
        const name = `${start}-${pattern}`
        await cp(at(start), at(name), { recursive: true })
        await addResource(wish(at(name), pattern))
        whole.set(name, await sumOf(at(name), at(name)))
      }
    }
  })
  after(() => workshop.remove())

  async function killed(
    pattern: ResourcePattern,
    moment: number,
    start: (typeof STARTS)[number] = 'empty',
  ): Promise<string> {
    const project = at('copy')
    await removeFolder(project)
    await cp(at(start), project, { recursive: true })
    const env = { ...process.env, SIGNAL_AT: String(moment), SIGNAL_NAME: 'SIGKILL' }
    const program = [process.execPath, '--import', HOOK, join(ROOT, 'bin/sallyport.js')]
    await ranIn(project, env, [...program, 'add', 'resource', 'zed', '--pattern', pattern])
    return project
  }

  /** The errors that `schema check`, `policy check` and the reading of matrices would find. */
  async function faultsOf(project: string): Promise<readonly string[]> {
    const { policies, schemas, matrices } = folders(project)
    try {
      const { resources } = await loadSchemas(schemas)
      const { findings } = await checkPolicy({ policies, resources, users: undefined, now: new Date() })
      await readPredictedSuite({ policies, schemas, matrices: [matrices] }, Date.now())
      return findings.filter(({ severity }) => severity === 'error').map(({ message }) => message)
    } catch (error) {
      return [(error as Error).message]
    }
  }

  it('leaves a project that works, and the same command completes it', async () => {
    let unfinished = 0
    const moments = fc.record({
      start: fc.constantFrom(...STARTS),
      pattern: fc.constantFrom(...PATTERNS),
      moment: fc.integer({ min: 1, max: LAST_MOMENT }),
    })
    const property = fc.asyncProperty(moments, async ({ start, pattern, moment }) => {
      const project = await killed(pattern, moment, start)
      // A deny of all resources of other tenants refuses a schema that has no relation with them yet.
      const faults = (await faultsOf(project)).filter((fault) => start === 'empty' || !fault.includes('relation-gap'))
      expect(faults).to.deep.equal([])
      const again = await addResource(wish(project, pattern)).catch(({ message }) => message)
      if (Array.isArray(again)) unfinished++
      else expect(again).to.include('exists already')
      expect(await sumOf(project, project)).to.equal(whole.get(`${start}-${pattern}`))
    })
    const examples = STARTS.map((start) => [{ start, pattern: 'team', moment: 4 }] as const)
    await drawing(
      () => fc.assert(property, { numRuns: runs(8), examples: examples.map(([one]) => [one]) }),
      () => {
        expect(unfinished).to.be.above(0)
      },
    )
  })

  it('leaves a matrix that is there already, and says what to do', async () => {
    const project = at('copy')
    await removeFolder(project)
    await cp(at('empty'), project, { recursive: true })
    const matrix = join(project, 'test/matrix/zed.csv')
    await writeFile(matrix, 'mine')
    const before = await sumOf(project, project)
    const refused = await addResource(wish(project, 'own')).catch(({ message }) => message)
    expect(refused).to.equal(
      `\`${matrix}\` would be overwritten: move it away, or write to another folder with --matrices`,
    )
    expect(await sumOf(project, project)).to.equal(before)
    const elsewhere = { ...wish(project, 'own'), matrices: join(project, 'test/more') }
    expect(await addResource(elsewhere)).to.include(join(project, 'test/more/zed.csv'))
  })

  it('would be found out by a schema of which half is written', async () => {
    const schema = join(await killed('team', LAST_MOMENT), 'schemas/zed.json')
    await writeFile(schema, (await readFile(schema, 'utf8')).slice(0, 200))
    expect(await faultsOf(at('copy'))).to.have.length(1)
  })

  it('takes a resource whose lines somebody changed for one that exists', async () => {
    const project = await killed('own', LAST_MOMENT)
    await rm(join(project, 'test/matrix/zed.csv'))
    const rules = join(project, 'policies/policy.csv')
    await writeFile(
      rules,
      (await readFile(rules, 'utf8')).replace('list|read|create|update|delete, owner', 'list|read, owner'),
    )
    const before = await sumOf(project, project)
    const refused = await addResource(wish(project, 'own')).catch(({ message }) => message)
    expect(refused).to.equal(`${project}/schemas/zed.json exists already: choose another name`)
    expect(await sumOf(project, project)).to.equal(before)
  })
})
