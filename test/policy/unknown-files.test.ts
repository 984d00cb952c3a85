/** A file that no policy has is refused wherever a policy is read; what editors leave for a moment changes nothing. */
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { PolicyEvent } from '../../src/policy/live/active-policy.ts'
import { LivePolicy } from '../../src/policy/live/live-policy.ts'
import { watchPolicy } from '../../src/policy/live/watch-policy.ts'
import { readPolicyFiles } from '../../src/policy/policy-files.ts'
import { policyFolderSource } from '../../src/policy/policy-source.ts'
import { findSchemaFaults, loadResources } from '../../src/resources/load/load-resources.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { addRules } from '../policy-text.ts'
import { until } from '../until.ts'

const ROOT = new URL('../..', import.meta.url).pathname

describe('a file that no policy has', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
    await cp(join(ROOT, 'policies'), folder, { recursive: true })
  })
  afterEach(() => removeFolder(folder))

  for (const [name, advice] of [
    ['masks.yml', 'rename it to `masks.yaml`'],
    ['mask.yaml', 'rename it to `masks.yaml`'],
    ['Masks.YAML', 'rename it to `masks.yaml`'],
    ['masks.yaml.txt', 'rename it to `masks.yaml`'],
    ['conditons.yaml', 'rename it to `conditions.yaml`'],
    ['caller.yaml', 'rename it to `callers.yaml`'],
    ['limits.yml', 'write what it says into `limits.yaml`'],
    ['policy2.csv', 'write what it says into `policy.csv`'],
    ['policy.csv.orig', 'write what it says into `policy.csv`'],
    ['blocked.csv', 'write what it says into `blocked.txt`'],
    ['more-rules.csv', 'move it out of the folder: the files of a policy are model.conf, policy.csv'],
  ] as const) {
    it(`is refused with what to do: ${name}`, async () => {
      await writeFile(join(folder, name), '')
      const fault = await readPolicyFiles(folder).catch((error: Error) => error.message)
      expect(fault).to.include(`${name}:1:1: no policy has a file \`${name}\``).and.include(advice)
    })
  }

  it('is refused as a link that leads nowhere, too', async () => {
    await symlink('nowhere', join(folder, 'masks.yml'))
    expect(await readPolicyFiles(folder).catch(String)).to.include('[unknown-file]')
  })

  it('is none of those that people, editors and deployments keep beside the others', async () => {
    for (const name of [
      ...['README', 'README.md', 'readme.txt', '.gitkeep', '.policy.csv.swp', '.#policy.csv', 'masks.schema.json'],
      ...['policy.csv~', '#policy.csv#', '4913', 'policy.csv___jb_tmp___', 'policy.csv___jb_old___'],
    ]) {
      await writeFile(join(folder, name), '')
    }
    await mkdir(join(folder, 'shapes'))
    await symlink('shapes', join(folder, 'linked'))
    expect(await readPolicyFiles(folder).then(() => 'read')).to.equal('read')
  })

  it('is refused among schemas, where editors and people may leave theirs', async () => {
    const schemas = join(folder, 'schemas')
    await cp(join(ROOT, 'schemas'), schemas, { recursive: true })
    for (const name of ['README.md', '.notes.json.swp', '.#notes.json', '._notes.json', 'notes.json~']) {
      await writeFile(join(schemas, name), '')
    }
    expect((await findSchemaFaults(schemas)).faults).to.deep.equal([])
    for (const name of ['tasks.jsonc', 'tasks.JSON', 'tasks.yaml']) await writeFile(join(schemas, name), '')
    const { faults } = await findSchemaFaults(schemas)
    expect(faults.map(({ file, code }) => `${file.slice(schemas.length + 1)} ${code}`)).to.deep.equal([
      'tasks.JSON unknown-file',
      'tasks.jsonc unknown-file',
      'tasks.yaml unknown-file',
    ])
  })
})

describe('a running server', () => {
  let folder: string
  let policy: LivePolicy
  let stop: () => void
  let events: PolicyEvent['kind'][]
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
    await cp(join(ROOT, 'policies'), folder, { recursive: true })
    events = []
    policy = await LivePolicy.open({
      source: policyFolderSource(folder),
      resources: await loadResources(join(ROOT, 'schemas')),
      observe: ({ kind }) => events.push(kind),
    })
    stop = await watchPolicy(policy, folder)
  })
  afterEach(async () => {
    stop()
    await removeFolder(folder)
  })

  it('keeps the last good policy while a file stands there that no policy has, and takes the edit after it', async () => {
    const { revision } = policy.active
    await writeFile(join(folder, 'masks.yml'), 'drop: [path]\n')
    await addRules(join(folder, 'policy.csv'), 'p, everyone, notes, list, any, *, deny')
    await until(() => events.length > 0)
    expect(events).to.deep.equal(['failed'])
    expect(String(policy.faults)).to.include('rename it to `masks.yaml`')
    expect(policy.active.revision).to.equal(revision)
    await writeFile(join(folder, 'blocked.txt'), 'user:mallory\n')
    await until(() => policy.active.blocked.has('mallory'))
    await rm(join(folder, 'masks.yml'))
    await until(() => policy.faults.length === 0)
    expect(events).to.deep.equal(['failed', 'activated', 'activated'])
  })

  it('takes an edit in place beside the files of an editor', async () => {
    for (const name of ['policy.csv~', '.policy.csv.swp', '#policy.csv#', '4913'])
      await writeFile(join(folder, name), '')
    await addRules(join(folder, 'policy.csv'), 'p, everyone, notes, list, any, *, deny')
    await until(() => events.length > 0)
    expect(events).to.deep.equal(['activated'])
  })
})
