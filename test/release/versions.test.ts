/** Versions of a policy directory: put in force at one moment, kept, and brought again. */
import { execFileSync } from 'node:child_process'
import { appendFile, cp, lstat, readdir, readFile, readlink, rm, symlink, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { readPolicyFiles } from '../../src/policy/policy-files.ts'
import { type PolicyContent, readContent } from '../../src/tools/release/content.ts'
import { homeOf } from '../../src/tools/release/folder/layout.ts'
import { putInForce } from '../../src/tools/release/folder/put-in-force.ts'
import { returnTarget } from '../../src/tools/release/plan.ts'
import { isIntact, readHistory, readVersion } from '../../src/tools/release/version.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { runs } from '../runs.ts'
import { apply, asIn01, digestIn, Folders, homeIn, revisionIn } from './fixture.ts'

/** The files that a policy may lack. */
const OPTIONAL = [
  ['masks.yaml', 'fields: [address]\n'],
  ['conditions.yaml', 'office: { network: [192.0.2.0/24] }\n'],
] as const

describe('a policy directory with versions', () => {
  let folders: Folders
  beforeEach(async () => {
    folders = await Folders.make()
  })
  afterEach(() => folders.remove())

  const told = async () => (await readHistory(folders.home)).map(({ number, kind }) => `${number} ${kind}`)

  it('begins as a plain one, whose files become the first version', async () => {
    const before = await digestIn(folders.live)
    const candidate = await folders.candidate('a', '# a')
    await apply(folders.live, await readContent(candidate))
    expect(await told()).to.deep.equal(['1 kept', '2 applied'])
    const [first] = await readHistory(folders.home)
    expect(first?.digest).to.equal(before)
    expect(await digestIn(folders.live)).to.equal(await digestIn(candidate))
  })

  it('holds plain files, and its versions beside them', async () => {
    const before = await readdir(folders.live)
    await apply(folders.live, await readContent(await folders.candidate('a', '# a')))
    expect(await readdir(folders.live)).to.have.members([...before, '.versions'])
    for (const name of before) expect((await lstat(join(folders.live, name))).isFile(), name).to.equal(true)
    expect(await readlink(join(folders.live, '.versions/.current'))).to.match(/^0002-[0-9a-f]{16}$/)
  })

  it('in the layout of 0.1 is read as it is, and rewritten by the next change', async () => {
    for (const name of ['a', 'b'])
      await apply(folders.live, await readContent(await folders.candidate(name, `# ${name}`)))
    const [digest, names] = [await digestIn(folders.live), await readdir(folders.live)]
    const history = await readHistory(folders.home)
    await asIn01(folders.live)
    const former = await homeOf(folders.live, join(folders.root, 'data'))
    expect([await digestIn(folders.live), await readHistory(former)]).to.deep.equal([digest, history])
    await appendFile(join(folders.live, 'policy.csv'), '# by hand, through the link\n')
    const edited = await digestIn(folders.live)
    await apply(folders.live, await readContent(await folders.candidate('c', '# c')))
    expect(await told()).to.deep.equal(['1 kept', '2 applied', '3 applied', '4 kept', '5 applied'])
    const after = await readHistory(folders.home)
    expect([after.slice(0, 3), after[3]?.digest]).to.deep.equal([history, edited])
    for (const version of after) expect(await isIntact(folders.home, version)).to.equal(true)
    expect(await readdir(folders.live)).to.have.members(names)
    expect((await lstat(join(folders.live, 'policy.csv'))).isFile()).to.equal(true)
    const inside = await readdir(join(folders.live, '.versions'), { recursive: true })
    expect(inside.filter((name) => name.includes('live'))).to.deep.equal([])
  })

  for (const [name, text] of OPTIONAL) {
    it(`holds ${name} as long as the version in force has one`, async () => {
      const plain = await revisionIn(folders.live)
      const shipped = await readContent(folders.live)
      await apply(folders.live, new Map([...shipped, [name, Buffer.from(text)]]))
      expect((await readPolicyFiles(folders.live))[name]?.text).to.equal(text)
      expect(await revisionIn(folders.live)).not.to.equal(plain)
      const version = await apply(folders.live, shipped)
      expect((await readPolicyFiles(folders.live))[name]).to.equal(undefined)
      expect([await revisionIn(folders.live), version.revision]).to.deep.equal([plain, plain])
    })
  }

  it('can be copied file by file, with optional files, without them, and without them again', async () => {
    const shipped = await readContent(folders.live)
    const copy = join(folders.root, 'copy')
    const optional = OPTIONAL.map(([name, text]) => [name, Buffer.from(text)] as const)
    for (const more of [[], optional, optional.slice(1), []]) {
      await apply(folders.live, new Map([...shipped, ...more]))
      execFileSync('sh', ['-c', 'rm -rf "$2" && mkdir "$2" && cp "$1"/* "$2"/', 'sh', folders.live, copy])
      expect(await digestIn(copy)).to.equal(await digestIn(folders.live))
    }
  })

  it('names the revision that a server says', async () => {
    const version = await apply(folders.live, await readContent(await folders.candidate('a', '# a')))
    expect(version.revision).to.equal(await revisionIn(folders.live))
    expect((await readHistory(folders.home))[0]?.revision).to.have.length(16)
  })

  it('keeps what somebody edited by hand, in place or by another file, as a version of its own', async () => {
    await apply(folders.live, await readContent(await folders.candidate('a', '# a')))
    const policy = join(folders.live, 'policy.csv')
    await appendFile(policy, '# by hand, in place\n')
    const edited = await digestIn(folders.live)
    await apply(folders.live, await readContent(await folders.candidate('b', '# b')))
    const views = join(folders.live, 'views.yaml')
    const text = await readFile(views, 'utf8')
    await unlink(views)
    await writeFile(views, `${text}# by an editor that renames\n`)
    const replaced = await digestIn(folders.live)
    await apply(folders.live, await readContent(await folders.candidate('c', '# c')))
    expect(await told()).to.deep.equal(['1 kept', '2 applied', '3 kept', '4 applied', '5 kept', '6 applied'])
    const history = await readHistory(folders.home)
    expect([history[2]?.digest, history[4]?.digest]).to.deep.equal([edited, replaced])
    // The second version is what it was.
    const intact = await Promise.all(history.map((version) => isIntact(folders.home, version)))
    expect(intact).to.deep.equal([true, true, true, true, true, true])
  })

  it('takes a half-made version and unfinished files of a crash away, and never lists them', async () => {
    await apply(folders.live, await readContent(await folders.candidate('a', '# a')))
    const versions = join(folders.live, '.versions')
    const left = ['.versions/.unfinished-x', '.unfinished-y']
    for (const name of left) await writeFile(join(folders.live, name), 'half')
    const [, second] = await readdir(versions).then((names) => names.filter((one) => /^\d/.test(one)).toSorted())
    await cp(join(versions, second ?? ''), join(versions, '0003-0123456789abcdef'), {
      recursive: true,
    })
    expect(await told()).to.deep.equal(['1 kept', '2 applied'])
    await apply(folders.live, await readContent(await folders.candidate('b', '# b')))
    expect(await told()).to.deep.equal(['1 kept', '2 applied', '3 applied'])
    expect(
      [...(await readdir(versions)), ...(await readdir(folders.live))].filter((name) => name.includes('unfinished')),
    ).to.deep.equal([])
  })

  it('goes back to the last version before that is still there', async () => {
    for (const name of ['a', 'b'])
      await apply(folders.live, await readContent(await folders.candidate(name, `# ${name}`)))
    const versions = join(folders.live, '.versions')
    const remove = async (number: string) => {
      const name = (await readdir(versions)).find((one) => one.startsWith(number)) ?? ''
      await removeFolder(join(versions, name))
    }
    const target = async () => returnTarget(await readHistory(folders.home), await digestIn(folders.live), undefined)
    await remove('0002')
    expect((await target()).number).to.equal(1)
    await remove('0001')
    expect(await target().catch(String)).to.contain(
      'there is no version before this one: take one from `sallyport policy history` with --to',
    )
  })

  it('loses no version where the link to the one in force is broken or gone: it says how to fix it', async () => {
    for (const name of ['a', 'b'])
      await apply(folders.live, await readContent(await folders.candidate(name, `# ${name}`)))
    const numbered = async () => (await readdir(join(folders.live, '.versions'))).filter((one) => /^\d/.test(one))
    const versions = await numbered()
    const link = join(folders.live, '.versions/.current')
    const right = await readlink(link)
    const content = await readContent(await folders.candidate('c', '# c'))
    for (const wrong of ['nowhere', '0009-0123456789abcdef', undefined]) {
      await rm(link)
      if (wrong) await symlink(wrong, link)
      for (const attempt of [apply(folders.live, content), readHistory(folders.home)]) {
        expect(await attempt.catch(String), wrong).to.contain(`as in: ln -sfn ${right} ${link}`)
      }
      expect(await numbered()).to.have.members(versions)
    }
    await rm(link, { force: true })
    await symlink(right, link)
    expect((await apply(folders.live, content)).number).to.equal(4)
  })

  it('goes back to what was before, and further back when asked again', async () => {
    const digests: string[] = [await digestIn(folders.live)]
    for (const name of ['a', 'b', 'c']) {
      await apply(folders.live, await readContent(await folders.candidate(name, `# ${name}`)))
      digests.push(await digestIn(folders.live))
    }
    const back = async () => {
      const target = returnTarget(await readHistory(folders.home), await digestIn(folders.live), undefined)
      const content = await readVersion(folders.home, target)
      const over = await digestIn(folders.live)
      await putInForce(folders.home, {
        content,
        over,
        kind: 'rolled-back',
        reason: undefined,
        of: target.number,
        now: new Date(),
      })
      return digests.indexOf(await digestIn(folders.live))
    }
    expect([await back(), await back(), await back()]).to.deep.equal([2, 1, 0])
    const history = await readHistory(folders.home)
    const present = await digestIn(folders.live)
    expect(() => returnTarget(history, present, undefined)).to.throw('there is no version before this one')
    expect(() => returnTarget(history, present, '99')).to.throw('there is no version `99`')
    expect(returnTarget(history, present, '3').number).to.equal(3)
    expect(returnTarget(history, present, history[1]?.revision).digest).to.equal(history[1]?.digest)
  })

  it('goes back to the last version where its files were edited by hand since, and never loses that edit', async () => {
    await apply(folders.live, await readContent(await folders.candidate('a', '# a')))
    await appendFile(join(folders.live, 'policy.csv'), '# by hand\n')
    const edited = await digestIn(folders.live)
    const target = returnTarget(await readHistory(folders.home), edited, undefined)
    expect(target.number).to.equal(2)
    await apply(folders.live, await readVersion(folders.home, target))
    expect((await readHistory(folders.home)).map(({ digest }) => digest)).to.include(edited)
  })

  it('is not changed over files that came after it was looked at', async () => {
    const content = await readContent(await folders.candidate('a', '# a'))
    const over = await digestIn(folders.live)
    await appendFile(join(folders.live, 'policy.csv'), '# meanwhile\n')
    const change = { content, over, kind: 'applied', reason: undefined, of: undefined, now: new Date() } as const
    const refused = await putInForce(folders.home, change).catch((error) => error.message)
    expect(refused).to.contain('have changed in the meantime, so nothing was done')
    expect(await readHistory(folders.home)).to.deep.equal([])
  })

  it('with a pipe among its files is refused, and nothing waits for it', async () => {
    await unlink(join(folders.live, 'views.yaml'))
    execFileSync('mkfifo', [join(folders.live, 'views.yaml')])
    const refused = await readContent(folders.live).catch((error) => error.message)
    expect(refused).to.contain('views.yaml is not a regular file')
  })

  it('lets one command at a time change it', async () => {
    const content = await readContent(await folders.candidate('a', '# a'))
    const racing = await Promise.allSettled([apply(folders.live, content), apply(folders.live, content)])
    expect(racing.map(({ status }) => status)).to.include('fulfilled')
    expect((await readHistory(folders.home)).at(-1)?.digest).to.equal(await digestIn(folders.live))
  })

  it('tells the truth after any sequence of changes by commands and by hand', async () => {
    const steps = fc.array(
      fc.record({
        kind: fc.constantFrom('apply', 'edit', 'replace', 'back'),
        text: fc.constantFrom('# a', '# b', '# c'),
      }),
      { maxLength: 7 },
    )
    const shipped = await readContent(folders.live)
    const property = fc.asyncProperty(steps, async (all) => {
      await folders.remove()
      folders = await Folders.make()
      const seen = new Set<string>()
      for (const { kind, text } of all) {
        if (kind === 'apply' || kind === 'back') seen.add(await digestIn(folders.live))
        await STEPS[kind](folders.live, { text, shipped })
      }
      const before = await readHistory(folders.home)
      await apply(folders.live, shipped)
      const history = await readHistory(folders.home)
      expect(history.map(({ number }) => number)).to.deep.equal(history.map((_, i) => i + 1))
      expect(history.slice(0, before.length)).to.deep.equal(before)
      expect(history.at(-1)?.digest).to.equal(await digestIn(folders.live))
      const recorded = new Set(history.map(({ digest }) => digest))
      expect([...seen].filter((digest) => !recorded.has(digest))).to.deep.equal([])
    })
    // Without a limit of time, at which fast-check would leave a sequence to go on in a folder that is being removed.
    await fc.assert(property, { numRuns: runs(15) })
  })
})

type Step = (live: string, how: { readonly text: string; readonly shipped: PolicyContent }) => Promise<void>

const STEPS: Readonly<Record<'apply' | 'edit' | 'replace' | 'back', Step>> = {
  async apply(live, { text, shipped }) {
    const csv = new TextEncoder().encode(`${new TextDecoder().decode(shipped.get('policy.csv'))}${text}\n`)
    await apply(live, new Map([...shipped, ['policy.csv', csv]]))
  },
  edit: (live, { text }) => appendFile(join(live, 'policy.csv'), `${text}\n`),
  async replace(live, { text }) {
    const policy = join(live, 'policy.csv')
    const before = await readFile(policy)
    await rm(policy)
    await writeFile(policy, `${before}${text}\n`)
  },
  async back(live) {
    const [first, ...later] = await readHistory(homeIn(live))
    if (!first || later.length === 0 || !(await isIntact(homeIn(live), first))) {
      await apply(live, await readContent(live))
      return
    }
    const content = await readVersion(homeIn(live), first)
    const over = await digestIn(live)
    await putInForce(homeIn(live), {
      content,
      over,
      kind: 'rolled-back',
      reason: undefined,
      of: first.number,
      now: new Date(),
    })
  },
}
