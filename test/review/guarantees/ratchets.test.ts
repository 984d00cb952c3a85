/** A ratchet lets no next version widen (or narrow) what it is about, wherever a next version comes into force. */
import { appendFile, cp, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AssertionError, expect } from 'chai'
import fc from 'fast-check'
import { refuseChange } from '../../../src/analysis/guarantees/faults.ts'
import { FileError } from '../../../src/base/diagnostic.ts'
import type { Ratchet } from '../../../src/decide/policy.ts'
import { parsePolicy } from '../../../src/policy/parse/parse-policy.ts'
import { ROOT, sallyport } from '../../command.ts'
import { removeFolder } from '../../ends-with-tests.ts'
import { LANGUAGE_RESOURCES, TASKS } from '../../policy/language-fixture.ts'
import { render } from '../../policy/render.ts'
import type { OraclePolicy } from '../../policy/world.ts'
import { addRules } from '../../policy-text.ts'
import { PublishedPolicies } from '../../published/fixture.ts'
import { policy } from '../../release/command.ts'
import { drawing, runs } from '../../runs.ts'
import { startTestServer } from '../../server.ts'
import { until } from '../../until.ts'
import { COMPARED, languagePair } from '../diff/language-pairs.ts'
import { pointsOf } from '../diff/language-space.ts'
import type { PolicyPair } from '../diff/policy-pairs.ts'
import { callersOf } from './by-force.ts'

const ACTIONS = ['list', 'read', 'create', 'replace', 'update', 'claim', 'delete']

describe('a ratchet on random policies', () => {
  interface Drawn {
    readonly pair: PolicyPair
    readonly never: Ratchet['never']
    readonly actions: readonly string[] | undefined
  }
  const drawn: fc.Arbitrary<Drawn> = fc.record({
    pair: languagePair,
    never: fc.constantFrom<Ratchet['never']>('widen', 'narrow'),
    actions: fc.option(fc.subarray(ACTIONS, { minLength: 1, maxLength: 2 }), { nil: undefined }),
  })

  function isRefused({ pair, never, actions }: Drawn): boolean {
    const said = JSON.stringify([{ name: 'kept', ratchet: { resource: 'tasks', never, ...(actions && { actions }) } }])
    const parse = (one: OraclePolicy) => {
      const files = render(one, { lineEnd: '\n', padding: ' ', comments: false })
      return parsePolicy({ ...files, 'guarantees.yaml': { name: 'guarantees.yaml', text: said } }, LANGUAGE_RESOURCES)
    }
    try {
      refuseChange({ before: parse(pair.before), after: parse(pair.after) }, { resources: COMPARED, now: 0 })
      return false
    } catch (error) {
      if (error instanceof FileError) return true
      throw error
    }
  }

  /** Whether some caller can do something new somewhere, or can no longer do something. */
  function isMoved({ pair, never, actions = ACTIONS }: Drawn): boolean {
    return callersOf(pair.before, { subjects: { except: [] }, actions: [] }).some((caller) =>
      actions.some((action) =>
        pointsOf(pair, { resource: TASKS, action, caller }).some(({ before, after }) =>
          never === 'widen' ? !after.isSubsetOf(before) : !before.isSubsetOf(after),
        ),
      ),
    )
  }

  const seesAll = (answer: typeof isRefused, count: (refused: boolean) => void = () => undefined) =>
    fc.property(drawn, (one) => {
      const refused = answer(one)
      count(refused)
      if (isMoved(one)) expect(refused).to.equal(true)
    })

  it('refuses each version in which some caller can do more, or less', () => {
    const counts = { refused: 0, passed: 0 }
    const property = seesAll(isRefused, (refused) => {
      counts[refused ? 'refused' : 'passed']++
    })
    return drawing(
      () => fc.assert(property, { numRuns: runs(400) }),
      () => expect(Math.min(counts.refused, counts.passed)).to.be.greaterThan(0),
    )
  }).timeout(300_000)

  for (const [fault, tamper] of Object.entries({
    'looks the other way': ({ never, ...rest }: Drawn): Drawn => ({
      ...rest,
      never: never === 'widen' ? 'narrow' : 'widen',
    }),
    'looks at reads alone': (one: Drawn): Drawn => ({ ...one, actions: ['read'] }),
  })) {
    it(`is compared so that one is found out that ${fault}`, () => {
      const outcome = fc.check(
        seesAll((one) => isRefused(tamper(one))),
        { numRuns: 1000, seed: 1, endOnFailure: true },
      )
      expect(outcome.errorInstance).to.be.instanceOf(AssertionError)
    }).timeout(120_000)
  }
})

describe('a ratchet', () => {
  const KEPT = '- name: accounts never open by accident\n  ratchet: { resource: accounts, never: widen }\n'
  const WIDENING = 'p, support, accounts, list|read, any, *, allow'
  const REFUSED =
    'this version breaks the guarantee "accounts never open by accident": it may not widen accounts, but support gains list and read on accounts'

  let base: string
  let next: string
  beforeEach(async () => {
    const folders = await Promise.all(['', ''].map(() => mkdtemp(join(tmpdir(), 'sallyport-'))))
    for (const folder of folders) {
      await cp(join(ROOT, 'policies'), folder, { recursive: true })
      await writeFile(join(folder, 'guarantees.yaml'), KEPT)
    }
    ;[base = '', next = ''] = folders
  })
  afterEach(() => Promise.all([base, next].map((folder) => removeFolder(folder))))

  const diff = async (format = 'text') =>
    (await sallyport(['policy', 'diff', base, next, '--format', format], { cwd: ROOT })).stdout

  it('is told by `policy check` as one that a version alone can not break', async () => {
    const { code, stdout } = await sallyport(['policy', 'check', next], { cwd: ROOT })
    expect(code).to.equal(0)
    expect(stdout).to.include('1 guarantee kept at each change: nothing was there to compare with')
    const told = JSON.parse((await sallyport(['policy', 'check', next, '--format', 'json'], { cwd: ROOT })).stdout)
    expect(told.guarantees[0]).to.include({ status: 'kept at each change', cells: 0 })
  })

  it('refuses a widening, which `policy diff` says before everything else', async () => {
    await addRules(join(next, 'policy.csv'), WIDENING)
    const text = (await diff()).replaceAll(/\n {4,}/g, ' ')
    expect(text.split('\n').slice(1, 4).join('\n'))
      .to.include('Refused: nothing puts this version in force')
      .and.include(REFUSED)
    expect(JSON.parse(await diff('json')).refused[0]).to.include(REFUSED)
    for (const format of ['markdown', 'html']) expect(await diff(format)).to.match(/refused/i)
  })

  it('lets a narrowing pass, and a widening of something else', async () => {
    await addRules(
      join(next, 'policy.csv'),
      'p, support, accounts, list, any, *, deny\np, support, notes, list, any, *, allow',
    )
    expect(await diff()).not.to.include('Refused')
    expect(JSON.parse(await diff('json')).refused).to.deep.equal([])
  })

  it('lets a widening pass with a version that changes the guarantee, which the diff says first', async () => {
    await addRules(join(next, 'policy.csv'), WIDENING)
    await writeFile(join(next, 'guarantees.yaml'), KEPT.replace('never: widen', 'actions: [update], never: widen'))
    const text = await diff()
    expect(text).not.to.include('Refused')
    expect(text.split('\n').filter(Boolean).slice(1, 3)).to.deep.equal([
      'Guarantees: what later versions must keep',
      '  = guarantee "accounts never open by accident" is promised otherwise',
    ])
  })

  it('begins with the change after the one that adds it', async () => {
    await writeFile(join(base, 'guarantees.yaml'), '[]\n')
    await addRules(join(next, 'policy.csv'), WIDENING)
    expect(await diff()).not.to.include('Refused')
  })

  it('keeps the policy in force in a running server', async () => {
    const server = await startTestServer({ files: { 'policies/guarantees.yaml': KEPT } })
    const { revision } = server.app.policy.active
    await addRules(join(server.folder, 'policies/policy.csv'), WIDENING)
    await until(() => server.app.policy.faults.length > 0)
    expect(String(server.app.policy.faults[0])).to.include(REFUSED)
    expect(server.app.policy.active.revision).to.equal(revision)
    // The same change with the guarantee taken back is in force.
    await writeFile(join(server.folder, 'policies/guarantees.yaml'), '[]\n')
    await until(() => server.app.policy.active.revision !== revision)
    expect(server.app.policy.faults).to.deep.equal([])
    await server.stop()
  })

  it('keeps the published version in force in a server that follows the database', async () => {
    const published = await PublishedPolicies.make()
    await writeFile(join(published.folder, 'guarantees.yaml'), KEPT)
    const first = await published.publish()
    const server = await published.start()
    await published.publish(WIDENING)
    await until(() => server.app.policy.faults.length > 0)
    expect(String(server.app.policy.faults[0])).to.include(REFUSED)
    expect(server.app.policy.active.sequence).to.equal(first)
    const third = await published.publish('p, support, notes, list, any, *, allow')
    await until(() => server.app.policy.active.sequence === third)
    expect(server.app.policy.faults).to.deep.equal([])
    await published.remove()
  })

  it('refuses a `policy rollback` that widens, of a folder and of a database, as long as both versions promise it', async () => {
    await addRules(join(base, 'policy.csv'), WIDENING)
    const published = await PublishedPolicies.make()
    const keys = { ...published.environment(), POLICY_SIGNING_KEY: published.privateKey() }
    const publisher = { ...keys, DATA_DIR: join(published.root, 'publisher'), POLICIES: 'policies' }
    for (const [env, place] of [
      [{ POLICIES: published.folder }, []],
      [publisher, ['--to', 'database:']],
    ] as const) {
      const apply = async (folder: string) => {
        const { code, stdout } = await policy(['apply', folder, ...place, '--yes'], env)
        expect(code, stdout).to.equal(0)
        return /Version (\d+), /.exec(stdout)?.[1] ?? ''
      }
      const wide = await apply(base)
      await apply(next)
      const named = ['--to', place.length > 0 ? `database:${wide}` : wide]
      for (const to of [place, named]) {
        const { code, stdout } = await policy(['rollback', ...to, '--yes'], env)
        expect([code, stdout.includes('[guarantee-broken]')], stdout).to.deep.equal([1, true])
        expect(stdout.replaceAll(/\n {4,}/g, ' ')).to.include(REFUSED)
      }
      // Control: where the version in force has no such guarantee, the same rollback passes.
      await writeFile(join(next, 'guarantees.yaml'), '[]\n')
      await apply(next)
      expect((await policy(['rollback', ...named, '--yes'], env)).code).to.equal(0)
      await writeFile(join(next, 'guarantees.yaml'), KEPT)
    }
    await published.remove()
  })

  it('is refused by `policy apply` to a folder and to a database, and by `policy promote`', async () => {
    await addRules(join(next, 'policy.csv'), WIDENING)
    const published = await PublishedPolicies.make()
    await writeFile(join(published.folder, 'guarantees.yaml'), KEPT)
    const env = { ...published.environment(), POLICY_SIGNING_KEY: published.privateKey() }
    const publisher = { ...env, DATA_DIR: join(published.root, 'publisher'), POLICIES: 'policies' }
    const first = await policy(['apply', base, '--to', 'database:', '--yes'], publisher)
    expect(first.code, first.stdout + first.stderr).to.equal(0)
    for (const [args, more] of [
      [['apply', next], { POLICIES: published.folder }],
      [['promote'], { POLICIES: published.folder, POLICY_CANDIDATE: next }],
      [['apply', next, '--to', 'database:'], publisher],
    ] as const) {
      const { code, stdout } = await policy([...args, '--yes'], more)
      expect([code, stdout.includes('[guarantee-broken]')], stdout).to.deep.equal([1, true])
    }
    await appendFile(
      join(next, 'guarantees.yaml'),
      KEPT.replace('accounts never', 'notes never').replace('resource: accounts', 'resource: notes'),
    )
    const { code } = await policy(['apply', next, '--yes'], { POLICIES: published.folder })
    expect(code).to.equal(1)
    await writeFile(join(next, 'guarantees.yaml'), '[]\n')
    expect((await policy(['apply', next, '--yes'], { POLICIES: published.folder })).code).to.equal(0)
    expect(await readFile(join(published.folder, 'policy.csv'), 'utf8')).to.include(WIDENING)
    await published.remove()
  })
})
