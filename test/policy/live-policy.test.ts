/** The policy in force: files that say what they said before cost nothing, however often they are written. */
import { appendFile, cp, mkdtemp, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { packPolicy } from '../../src/decide/rules/rule-table.ts'
import { LivePolicy } from '../../src/policy/live/live-policy.ts'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import { policyFolderSource } from '../../src/policy/policy-source.ts'
import { loadResources } from '../../src/resources/load/load-resources.ts'
import { removeFolder } from '../ends-with-tests.ts'

const ROOT = new URL('../..', import.meta.url).pathname

describe('the policy in force', () => {
  it('is not made again of files that were only touched, and is of files that changed', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'sallyport-'))
    await cp(join(ROOT, 'policies'), directory, { recursive: true })
    const resources = await loadResources(join(ROOT, 'schemas'))
    const events: string[] = []
    let parsed = 0
    const policy = await LivePolicy.open({
      source: policyFolderSource(directory),
      resources,
      observe: ({ kind }) => events.push(kind),
      parse: (files) => {
        parsed += 1
        return packPolicy(parsePolicy(files, resources))
      },
    })
    const { snapshot } = policy.active
    const file = join(directory, 'policy.csv')
    await utimes(file, 1, 1)
    await policy.reload()
    expect([parsed, policy.active.snapshot, events]).to.deep.equal([0, snapshot, []])
    await appendFile(file, '# changed\n')
    await policy.reload()
    expect([parsed, events]).to.deep.equal([1, ['activated']])
    expect(policy.active.snapshot).not.to.equal(snapshot)
    await removeFolder(directory)
  })

  it('is never replaced by files that were read before its own', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'sallyport-'))
    await cp(join(ROOT, 'policies'), directory, { recursive: true })
    const resources = await loadResources(join(ROOT, 'schemas'))
    const parsing = Promise.withResolvers<void>()
    const slow = Promise.withResolvers<void>()
    const parsed: string[] = []
    const policy = await LivePolicy.open({
      source: policyFolderSource(directory),
      resources,
      observe: () => undefined,
      parse: async (files) => {
        const text = files['policy.csv']?.text ?? ''
        parsed.push(text.trimEnd().split('\n').at(-1) ?? '')
        parsing.resolve()
        if (text.endsWith('# older\n')) await slow.promise
        return packPolicy(parsePolicy(files, resources))
      },
    })
    const file = join(directory, 'policy.csv')
    await appendFile(file, '# older\n')
    const older = policy.reload()
    await parsing.promise
    await appendFile(file, '# newer\n')
    const newer = policy.reload()
    // Time enough for the newer one to overtake, if it may.
    await new Promise((resolve) => setTimeout(resolve, 200))
    slow.resolve()
    await Promise.all([older, newer])
    expect(parsed).to.deep.equal(['# older', '# newer'])
    expect(policy.sources.files['policy.csv']?.text.endsWith('# newer\n')).to.equal(true)
    await removeFolder(directory)
  })
})
