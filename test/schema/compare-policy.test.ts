/** `schema diff` beside another policy: its findings are new where the lines are, however many stand before them. */
import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { loadSchemas } from '../../src/resources/load/load-resources.ts'
import { comparePolicyFindings } from '../../src/tools/schema/diff/compare-policy.ts'
import { removeFolder } from '../ends-with-tests.ts'

const ROOT = new URL('../..', import.meta.url).pathname

describe('findings of another policy', () => {
  let folder: string
  /** Rules of the shipped policy. */
  let [one, other] = ['', '']
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-compare-'))
    const text = await readFile(join(ROOT, 'policies/policy.csv'), 'utf8')
    ;[one = '', other = ''] = text.split('\n').filter((line) => /^p, /.test(line))
  })
  afterEach(() => removeFolder(folder))

  /** The shipped policy with these lines before and behind its own. */
  async function policy(name: string, before: readonly string[], behind: readonly string[]): Promise<string> {
    const made = join(folder, name)
    await cp(join(ROOT, 'policies'), made, { recursive: true })
    const [head = '', ...rules] = (await readFile(join(made, 'policy.csv'), 'utf8')).trimEnd().split('\n')
    const end = rules.at(-1) ?? ''
    await writeFile(join(made, 'policy.csv'), [head, ...before, ...rules.slice(0, -1), ...behind, end, ''].join('\n'))
    return made
  }

  async function newOnes(earlier: string, policies: string): Promise<readonly string[]> {
    const { resources } = await loadSchemas(join(ROOT, 'schemas'))
    const both = { before: resources, after: resources }
    const changes = await comparePolicyFindings({ policies, earlier: { name: earlier, usual: '' } }, both, new Date())
    const texts = (await readFile(join(policies, 'policy.csv'), 'utf8')).split('\n')
    return changes.map(({ file, line }) => (file.endsWith('policy.csv') ? (texts[line - 1] ?? '') : file))
  }

  it('are new for another line, though an equal message about a fixed line is gone', async () => {
    const earlier = await policy('earlier', [], [one])
    expect(await newOnes(earlier, await policy('next', [], [other]))).to.deep.equal([other])
    expect(await newOnes(earlier, await policy('both', [], [one, other]))).to.deep.equal([other])
  })

  it('are the old ones where only the numbers of lines differ', async () => {
    const earlier = await policy('earlier', [], [one])
    expect(await newOnes(earlier, await policy('next', ['# a', '# b'], [one]))).to.deep.equal([])
    expect(await newOnes(earlier, await policy('twice', ['# a'], [one, one]))).to.deep.equal([one])
  })
})
