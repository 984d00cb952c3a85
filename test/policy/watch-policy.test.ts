/** While a policy with very many rules is parsed, a block counts at once; a directory that is exchanged stays whole. */
import { appendFile, cp, mkdtemp, rename, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { packPolicy } from '../../src/decide/rules/rule-table.ts'
import { LivePolicy } from '../../src/policy/live/live-policy.ts'
import { watchPolicy } from '../../src/policy/live/watch-policy.ts'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import { policyFolderSource } from '../../src/policy/policy-source.ts'
import { loadResources } from '../../src/resources/load/load-resources.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { until } from '../until.ts'

const ROOT = new URL('../..', import.meta.url).pathname

describe('while rules are parsed for long', () => {
  let folder: string
  let policy: LivePolicy
  let stop: () => void
  let parsing: PromiseWithResolvers<void>
  let parse: PromiseWithResolvers<void>

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
    for (const name of ['one', 'two']) await cp(join(ROOT, 'policies'), join(folder, name), { recursive: true })
    await pointTo('one')
    parsing = Promise.withResolvers()
    parse = Promise.withResolvers()
    const resources = await loadResources(join(ROOT, 'schemas'))
    policy = await LivePolicy.open({
      source: policyFolderSource(join(folder, 'policies')),
      resources,
      observe: () => {},
      parse: async (files) => {
        parsing.resolve()
        await parse.promise
        return packPolicy(parsePolicy(files, resources))
      },
    })
    stop = await watchPolicy(policy, join(folder, 'policies'))
    // So that the first look, which takes all once more, is over.
    await sleep(600)
  })
  afterEach(async () => {
    stop()
    parse.resolve()
    await removeFolder(folder)
  })

  it('a block counts, and still does when they rule', async () => {
    const before = policy.active
    await appendFile(join(folder, 'one/policy.csv'), '# many more\n')
    await parsing.promise
    await appendFile(join(folder, 'one/blocked.txt'), 'user:mallory\n')
    await until(() => policy.active.blocked.has('mallory'))
    expect(policy.active.snapshot).to.equal(before.snapshot)
    const blocked = policy.active
    parse.resolve()
    await until(() => policy.active.revision !== blocked.revision)
    expect(policy.active.snapshot).not.to.equal(before.snapshot)
    expect(policy.active.blocked.has('mallory')).to.equal(true)
  })

  it('nothing is taken alone of a directory that took over the path', async () => {
    const before = policy.active
    await appendFile(join(folder, 'two/policy.csv'), '# another\n')
    await writeFile(join(folder, 'two/blocked.txt'), 'user:mallory\n')
    await pointTo('two')
    await parsing.promise
    await sleep(600)
    expect(policy.active).to.equal(before)
    parse.resolve()
    await until(() => policy.active.blocked.has('mallory'))
    expect(policy.active.snapshot).not.to.equal(before.snapshot)
  })

  it('nor of one that takes it over meanwhile', async () => {
    await appendFile(join(folder, 'one/policy.csv'), '# many more\n')
    await writeFile(join(folder, 'two/blocked.txt'), 'user:mallory\n')
    await parsing.promise
    const before = policy.active
    await pointTo('two')
    await sleep(600)
    expect(policy.active).to.equal(before)
    parse.resolve()
    await until(() => policy.active.blocked.has('mallory'))
  })

  /** As tools do it that swap at once. */
  async function pointTo(name: string): Promise<void> {
    await symlink(join(folder, name), join(folder, 'link'))
    await rename(join(folder, 'link'), join(folder, 'policies'))
  }
})
