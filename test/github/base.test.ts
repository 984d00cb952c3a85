/** Which commit a change is compared with, and what is compared: the base as it was there, in every kind of clone. */
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { compareWithBase } from '../../src/tools/project/ci/compare-base.ts'
import { findBase, type Occasion } from '../../src/tools/project/ci/occasion.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { withRules } from '../policy-text.ts'
import { pullRequest } from './job.ts'
import { openRepository, type Repository, sallyportIn } from './repository.ts'

const NOW = new Date('2026-11-01T00:00:00Z')

describe('the base of a change', () => {
  let one: Repository
  beforeEach(async () => {
    one = await openRepository()
  })
  afterEach(() => one.remove())

  const id = (revision: string) => one.git('rev-parse', revision).trim()
  const pull = (base: string, commit = id('HEAD')): Occasion => ({
    event: 'pull_request',
    commit,
    pullRequest: 7,
    base,
  })
  const found = async (occasion: Occasion, folder = one.folder, asked?: string) => {
    const base = await findBase(folder, asked, occasion)
    return 'commit' in base ? base.commit : base.missing
  }

  it('is the first parent of the merge, even if the branch has gone on since, or the event is an old one', async () => {
    await pullRequest(one, () => one.openHole())
    const [merge, first] = [id('HEAD'), id('HEAD^1')]
    one.git('checkout', '-q', 'main')
    one.git('commit', '-qm', 'later', '--allow-empty')
    const later = id('HEAD')
    one.git('checkout', '-q', merge)
    expect(await found(pull(later)))
      .to.equal(first)
      .and.not.equal(later)
    // A merge that GitHub didn't make is a commit like others.
    expect(await found(pull(later, 'f'.repeat(40)))).to.equal(first)
  })

  it('is where the branch began, if the workflow checked out the branch itself', async () => {
    await pullRequest(one, () => one.openHole())
    const began = id('main')
    one.git('checkout', '-q', 'main')
    one.git('commit', '-qm', 'later', '--allow-empty')
    const later = id('HEAD')
    one.git('checkout', '-q', 'change')
    expect(await found(pull(later))).to.equal(began)
  })

  it('is found in a clone of depth 2, and asked for in one sentence in a clone of depth 1', async () => {
    await pullRequest(one, () => one.openHole())
    const [first, occasion] = [id('HEAD^1'), pull(id('main'))]
    one.git('branch', '-q', 'merged')
    for (const depth of ['2', '1']) {
      const clone = join(one.folder, `.git/depth-${depth}`)
      one.git('clone', '-q', '--depth', depth, '--branch', 'merged', `file://${one.folder}`, clone)
      const base = await found(occasion, clone).catch(({ message }) => message)
      const sentence = `the clone has not the commit \`${first}\` to compare with: give actions/checkout \`fetch-depth: 0\``
      expect(base).to.equal(depth === '2' ? first : sentence)
    }
  })

  it('is what was there before a push, or nothing that a push or another event could name', async () => {
    await pullRequest(one, () => one.openHole())
    const push = (base: string | undefined): Occasion => ({
      event: 'push',
      commit: id('HEAD'),
      pullRequest: undefined,
      base,
    })
    expect(await found(push(id('main')))).to.equal(id('main'))
    expect(await found(push('a'.repeat(40)))).to.include('which was there before')
    expect(await found(push(undefined))).to.equal('a workflow of the event `push` has no earlier commit')
    expect(await found(push(undefined), one.folder, 'main')).to.equal(id('main'))
    expect(await found(push(undefined), one.folder, '--all').catch(({ message }) => message)).to.include('`--all`')
  })

  describe('is compared', () => {
    const folders = () => ({
      policies: join(one.project, 'policies'),
      schemas: join(one.project, 'schemas'),
      matrices: [join(one.project, 'test/matrix')],
    })
    const compared = async () => compareWithBase(id('main'), folders(), NOW)
    const directions = ({ policies }: Awaited<ReturnType<typeof compared>>) => policies?.changes.length

    it('by its own files, and no folder of the change passes for it', async () => {
      await pullRequest(one, () => one.openHole())
      const before = directions(await compared())
      expect(before).to.be.above(0)
      // A folder with the id of the commit as its name, from which the command runs.
      const planted = join(process.cwd(), id('main'))
      await mkdir(planted)
      try {
        await cp(join(one.project, 'policies'), planted, { recursive: true })
        expect(directions(await compared())).to.equal(before)
      } finally {
        await removeFolder(planted)
      }
    })

    it('to nothing, with a remark, where it has no policy yet or a broken one', async () => {
      one.git('commit', '-qm', 'empty', '--allow-empty')
      one.git('add', '.')
      expect(await compared()).to.deep.equal({
        remark: `The base has no policy in \`${folders().policies}\`, so all of it is new.`,
      })
      const file = join(one.project, 'policies/policy.csv')
      const good = await readFile(file, 'utf8')
      await writeFile(file, `${good}p, nobody knows\n`)
      one.git('add', '.')
      one.git('commit', '-qm', 'broken')
      await writeFile(file, good)
      expect((await compared()).remark).to.include('not compared')
    })

    it('whatever the matrices contradict, also where the schemas change too', async () => {
      await pullRequest(one, async () => {
        await one.openHole()
        const schema = join(one.project, 'schemas/users.json')
        await writeFile(schema, (await readFile(schema, 'utf8')).replace('"maxLength": ', '"maxLength": 1'))
        const matrix = await readFile(join(one.project, 'test/matrix/users.csv'), 'utf8')
        await writeFile(join(one.project, 'test/matrix/other.csv'), matrix.replaceAll('403', '204'))
      })
      const { policies, schemas } = await compared()
      expect(policies?.changes).to.have.length.above(0)
      expect(schemas?.changes).to.have.length.above(0)
    })

    describe('where a resource is added to a base with a warning', () => {
      const rules = async (line: string) => {
        const file = join(one.project, 'policies/policy.csv')
        await writeFile(file, withRules(await readFile(file, 'utf8'), line))
      }
      const add = (pattern: string) =>
        sallyportIn(one.project, one.env, 'add', 'resource', 'boards', '--pattern', pattern)
      const warnings = async () => {
        const { schemas } = await compared()
        expect(schemas?.changes.map(({ code }) => code)).to.include('resource-added')
        return schemas?.changes
          .filter(({ concern }) => concern === 'policies')
          .map(({ code, line }) => ({ code, line }))
      }

      it('without that warning, whatever the pattern, and moved or not', async () => {
        await rules('p, member, users, update, any, *, allow')
        await pullRequest(one, () => add('own'))
        expect(await warnings()).to.deep.equal([])
        const { stdout } = await sallyportIn(one.project, one.env, 'schema', 'diff', 'main', 'schemas')
        expect(stdout).to.include('[resource-added]').and.not.include('[policy-warning]')
        for (const pattern of ['team', 'public-read']) {
          one.git('checkout', '-q', '-B', 'change', 'main')
          await add(pattern)
          await writeFile(join(one.project, 'policies/policy.csv'), `# moved\n${await policyText()}`)
          expect(await warnings()).to.deep.equal([])
          one.git('reset', '-q', '--hard')
          one.git('clean', '-qfd')
        }
      })

      it('with a second one of the same words, which the change brings', async () => {
        await rules('p, member, users, update, any, *, allow')
        await pullRequest(one, async () => {
          await add('own')
          await rules('p, member, boards, update, any, *, allow')
        })
        const lines = (await policyText()).split('\n')
        expect((await warnings())?.map(({ line }) => lines[line - 1])).to.include(
          'p, member, boards, update, any, *, allow',
        )
      })

      const policyText = () => readFile(join(one.project, 'policies/policy.csv'), 'utf8')
    })

    for (const way of ['adds', 'removes'] as const) {
      it(`also where the change ${way} a resource, with what that means for its requests`, async () => {
        const files = ['schemas/boards.json', 'policies/ownership.yaml', 'policies/policy.csv'].map((name) =>
          join(one.project, name),
        )
        const without = await Promise.all(files.map((file) => readFile(file, 'utf8').catch(() => undefined)))
        const { addResource } = await import('../../src/tools/project/add-resource.ts')
        const add = () =>
          addResource({
            ...folders(),
            resource: 'boards',
            pattern: 'own',
            role: 'member',
            matrices: join(one.project, 'test/matrix'),
          })
        const remove = () =>
          Promise.all(files.map((file, i) => (without[i] === undefined ? rm(file) : writeFile(file, without[i]))))
        if (way === 'removes') await add()
        await pullRequest(one, way === 'adds' ? add : remove)
        const { policies, schemas, remark } = await compared()
        expect(remark).to.equal(undefined)
        const changed = policies?.changes.flatMap((change) => ('resources' in change ? change.resources : []))
        expect(changed).to.include('boards')
        expect(schemas?.changes.map(({ resource }) => resource)).to.include('boards')
      })
    }
  })
})
