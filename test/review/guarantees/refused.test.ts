/** A policy that breaks a guarantee is an error wherever a policy is checked or put in force. */
import { appendFile, cp, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { ROOT, sallyport } from '../../command.ts'
import { removeFolder } from '../../ends-with-tests.ts'
import { addRules, withRules } from '../../policy-text.ts'
import { PublishedPolicies } from '../../published/fixture.ts'
import { policy } from '../../release/command.ts'
import { sarifFaults } from '../../sarif.ts'
import { startTestServer } from '../../server.ts'
import { until } from '../../until.ts'

const KEPT = `- name: only its owner changes a note
  never: { resource: notes, actions: [create, replace, update, delete], unless: owner }
- name: support can always read orders
  always: { subjects: [support], resource: orders, actions: [list, read], fields: [status] }
`
const BREAKING = 'p, support, notes, update, any, *, allow'

describe('a guarantee that the policy breaks', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
    await cp(join(ROOT, 'policies'), folder, { recursive: true })
    await writeFile(join(folder, 'guarantees.yaml'), KEPT)
  })
  afterEach(() => removeFolder(folder))

  const check = (format = 'text') => sallyport(['policy', 'check', folder, '--format', format], { cwd: ROOT })
  const brokenLine = async () => (await readFile(join(folder, 'policy.csv'), 'utf8')).split('\n').indexOf(BREAKING) + 1

  it('is told with its counterexample, and a kept one with its cells', async () => {
    expect((await check()).stdout).to.match(/^2 guarantees proven, in \d+ cells\n\nnothing found/)
    await addRules(join(folder, 'policy.csv'), BREAKING)
    const line = await brokenLine()
    const { code, stdout } = await check()
    expect(code).to.equal(1)
    expect(stdout).to.include(
      `${folder}/policy.csv:${line}:1: error: this breaks the guarantee \`only its owner changes a note\`: ` +
        'a caller with `support` can `update` `notes` where no relation holds [guarantee-broken]',
    )
    expect(stdout).to.include(`allow less, or change the guarantee in ${folder}/guarantees.yaml:1`)
    expect(stdout).to.include('counterexample to `only its owner changes a note`\n')
    expect(stdout).to.match(/request {2}PATCH \/api\/v1\/notes\/\S+ \{"title":".*"\} -> 204\n/)
    expect(stdout).to.include(`  allowed  policy.csv:${line}\n`).and.include('1 guarantee proven, in ')
  })

  it('stands on the page of the access matrix, beside those that are kept', async () => {
    const page = async () => {
      const { stdout } = await sallyport(['policy', 'matrix', '--policies', folder, '--format', 'html'], { cwd: ROOT })
      return stdout
    }
    const kept =
      'What must always hold: only its owner changes a note (proven); support can always read orders (proven)</p>'
    expect(await page())
      .to.include(kept)
      .and.include('<dt>only its owner changes a note</dt><dd>proven</dd>')
    await addRules(join(folder, 'policy.csv'), BREAKING)
    expect(await page()).to.include('only its owner changes a note (<strong>broken</strong>); support')
  })

  it('has an explain command that tells the line', async () => {
    await addRules(join(folder, 'policy.csv'), BREAKING)
    const { guarantees } = JSON.parse((await check('json')).stdout)
    const { explain, curl } = guarantees[0].counterexample
    const args = String(explain).replaceAll("'", '').split(' ')
    const { stdout } = await sallyport(args.slice(1), { cwd: ROOT })
    expect(stdout)
      .to.match(/^ALLOW {5}PATCH /)
      .and.include(`policy.csv:${await brokenLine()}`)
    expect(curl).to.match(
      /^curl -X PATCH http:\/\/127\.0\.0\.1:3000\/api\/v1\/notes\/\S+ -H "authorization: Bearer \$TOKEN"/,
    )
  })

  it('is told as JSON of the public shape, and marked in SARIF at the line that allows it', async () => {
    await appendFile(
      join(folder, 'guarantees.yaml'),
      '- name: impossible\n  always: { resource: orders, actions: [read], when: draft+placed }\n',
    )
    await addRules(join(folder, 'policy.csv'), BREAKING)
    const told = JSON.parse((await check('json')).stdout)
    const shape = JSON.parse(await readFile(join(ROOT, 'docs/schemas/policy-check.schema.json'), 'utf8'))
    const validate = new Ajv2020({ strict: true, validateFormats: false }).compile(shape)
    expect(validate(told), JSON.stringify(validate.errors)).to.equal(true)
    expect(told.guarantees.map(({ status }: { status: string }) => status)).to.deep.equal([
      'broken',
      'proven',
      'undecided',
    ])
    expect(told.guarantees[0].counterexample.caller.roles).to.deep.equal(['support'])
    const log = JSON.parse((await check('sarif')).stdout)
    expect(sarifFaults(log)).to.deep.equal([])
    const [result] = log.runs[0].results.filter(({ ruleId }: { ruleId: string }) => ruleId === 'guarantee-broken')
    expect(result.level).to.equal('error')
    expect(result.locations[0].physicalLocation.region.startLine).to.equal(await brokenLine())
  })

  it('is told with the end of the caller as the last request, whichever act is written first', async () => {
    const acts = ['{ resource: orders, actions: [delete] }', '{ resource: users, actions: [delete], when: owner }']
    for (const [one, other] of [acts, acts.toReversed()]) {
      const text = `- name: n\n  anywhere: true\n  apart: [${one}, ${other}]\n`
      await writeFile(join(folder, 'guarantees.yaml'), text)
      const { next, ...first } = JSON.parse((await check('json')).stdout).guarantees[0].counterexample
      expect([first.request.path, next.request.path].map((path) => path.split('/').at(-2))).to.deep.equal([
        'orders',
        'users',
      ])
    }
  })

  it('is told with both requests, if it is about two acts of one caller', async () => {
    const acts = ['draft>placed', 'placed>shipped'].map(
      (when) => `{ resource: orders, actions: [update], when: ${when} }`,
    )
    await writeFile(join(folder, 'guarantees.yaml'), `- name: placed and shipped\n  apart: [${acts.join(', ')}]\n`)
    const { code, stdout } = await check()
    expect(code).to.equal(1)
    expect(stdout).to.match(
      /policy\.csv:\d+:1: error: this breaks the guarantee `placed and shipped`: a caller with `support` can `update` `orders` where .* becomes .*, and `update` `orders` where .* \[guarantee-broken\]/,
    )
    expect(stdout).to.match(/request {2}PATCH .*\n(.*\n)*? {2}and then\n.*\n {2}request {2}PATCH .* -> 20\d\n/)
    const told = JSON.parse((await check('json')).stdout)
    const shape = JSON.parse(await readFile(join(ROOT, 'docs/schemas/policy-check.schema.json'), 'utf8'))
    const validate = new Ajv2020({ strict: true, validateFormats: false }).compile(shape)
    expect(validate(told), JSON.stringify(validate.errors)).to.equal(true)
    const { next, ...first } = told.guarantees[0].counterexample
    expect([first.after.status, next.before.status, next.after.status]).to.deep.equal(['placed', 'placed', 'shipped'])
    expect(next.before).to.deep.equal(first.after)
    for (const { explain } of [first, next]) {
      const { stdout: explained } = await sallyport(String(explain).replaceAll("'", '').split(' ').slice(1), {
        cwd: ROOT,
      })
      expect(explained).to.match(/^ALLOW {5}PATCH /)
    }
  })

  it('is undecided, and says where the rules break it, if no object can be so', async () => {
    const projects = join(ROOT, 'examples/projects')
    await cp(join(projects, 'policies'), folder, { recursive: true })
    const text = '- name: by members\n  never: { resource: tasks, actions: [create], unless: team }\n'
    await writeFile(join(folder, 'guarantees.yaml'), text)
    const { code, stdout } = await sallyport(['policy', 'check', folder, '--schemas', join(projects, 'schemas')])
    expect(code).to.equal(1)
    expect(stdout).to.match(
      /guarantees\.yaml:1:3: error: whether the guarantee `by members` holds is not decided: a caller with `member` can `create` `tasks` where `.*` holds, but no request was found/,
    )
  })

  it('is told from when on it breaks, where a rule ends', async () => {
    await writeFile(
      join(folder, 'guarantees.yaml'),
      '- name: bob writes\n  always: { resource: notes, actions: [list] }\n',
    )
    await addRules(
      join(folder, 'policy.csv'),
      'p, everyone, notes, list, any, *, allow, until=2999-01-01T00:00:00Z\np, anonymous, notes, list, any, *, allow',
    )
    expect((await check()).stdout).to.include(
      "a caller without a role can't `list` any field of `notes` where no relation holds, from 2999-01-01T00:00:00Z on",
    )
  })

  it('stops a start, and the message says which', async () => {
    const rules = `${await readFile(join(ROOT, 'policies/policy.csv'), 'utf8')}`.replace(
      '# end of policy',
      `${BREAKING}\n# end of policy`,
    )
    const files = { 'policies/guarantees.yaml': KEPT, 'policies/policy.csv': rules }
    const error = await startTestServer({ files }).then(
      () => undefined,
      (reason: Error) => reason,
    )
    expect(error?.message).to.include('this breaks the guarantee `only its owner changes a note`')
  })

  it('never comes into force in a running server: the last good policy stays', async () => {
    const server = await startTestServer({ files: { 'policies/guarantees.yaml': KEPT } })
    const { revision } = server.app.policy.active
    await addRules(join(server.folder, 'policies/policy.csv'), BREAKING)
    await until(() => server.app.policy.faults.length > 0)
    expect(String(server.app.policy.faults[0])).to.include('[guarantee-broken]')
    expect(server.app.policy.active.revision).to.equal(revision)
    // Without the guarantee, the same rules are in force.
    await writeFile(join(server.folder, 'policies/guarantees.yaml'), '[]\n')
    await until(() => server.app.policy.active.revision !== revision)
    expect(server.app.policy.faults).to.deep.equal([])
    await server.stop()
  })

  it('is refused by `policy apply`, to a folder and to a database, and by `policy promote`', async () => {
    const published = await PublishedPolicies.make()
    await addRules(join(folder, 'policy.csv'), BREAKING)
    const env = { ...published.environment(), POLICY_SIGNING_KEY: published.privateKey() }
    for (const [args, more] of [
      [['apply', folder], { POLICIES: published.folder }],
      [['promote'], { POLICIES: published.folder, POLICY_CANDIDATE: folder }],
      [
        ['apply', folder, '--to', 'database:'],
        { ...env, DATA_DIR: join(published.root, 'publisher'), POLICIES: 'policies' },
      ],
    ] as const) {
      const { code, stdout } = await policy([...args, '--yes'], more)
      expect([code, stdout.includes('[guarantee-broken]')], stdout).to.deep.equal([1, true])
    }
    await published.remove()
  })

  it('stops a start where it is undecided, too', async () => {
    const ends = Array.from({ length: 201 }, (_, i) => {
      const until = new Date(Date.UTC(2999, 0, 1, 0, i)).toISOString()
      return `p, everyone, notes, read, any, *, deny, until=${until}`
    })
    const files = {
      'policies/guarantees.yaml': '- name: many ends\n  never: { resource: notes, actions: [read], unless: owner }\n',
      'policies/policy.csv': withRules(await readFile(join(ROOT, 'policies/policy.csv'), 'utf8'), ends.join('\n')),
    }
    const error = await startTestServer({ files }).then(
      (server) => server.stop().then(() => undefined),
      (reason: Error) => reason,
    )
    expect(error?.message).to.include('whether the guarantee `many ends` holds is not decided')
  })

  it('never comes into force from a database either, whoever has published and signed it', async () => {
    const published = await PublishedPolicies.make()
    await writeFile(join(published.folder, 'guarantees.yaml'), KEPT)
    const first = await published.publish()
    const server = await published.start()
    await published.publish(BREAKING)
    await until(() => server.app.policy.faults.length > 0)
    expect(String(server.app.policy.faults[0])).to.include('[guarantee-broken]')
    expect(server.app.policy.active.sequence).to.equal(first)
    const third = await published.publish('p, support, notes, list, any, *, allow')
    await until(() => server.app.policy.active.sequence === third)
    await published.remove()
  })

  it('is a change that `policy diff` tells', async () => {
    const { stdout } = await sallyport(['policy', 'diff', 'policies', folder], { cwd: ROOT })
    expect(stdout).to.include('guarantee "only its owner changes a note" is promised')
  })
})
