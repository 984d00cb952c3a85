/** Former words of policy files mean what the words of today mean, are named, and are replaced by `policy check --fix`. */
import { chmod, cp, lstat, mkdtemp, readFile, rename, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { pino } from 'pino'
import type { Policy } from '../../src/decide/policy.ts'
import { LivePolicy } from '../../src/policy/live/live-policy.ts'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import { readInPlace } from '../../src/policy/policy-files.ts'
import { policyFolderSource } from '../../src/policy/policy-source.ts'
import { loadResources } from '../../src/resources/load/load-resources.ts'
import type { Resources } from '../../src/resources/resource.ts'
import { createPolicyLog } from '../../src/server/policy-changes/policy-log.ts'
import { ROOT, sallyport } from '../command.ts'
import { removeFolder } from '../ends-with-tests.ts'

/** Texts that have the words elsewhere too, where they mean something else. */
const FORMER = {
  'conditions.yaml': '# { told: true } was the form\nsoft: { told: true }\n"told": { "told": true }\n',
  'callers.yaml': `# check-ignore unused-condition: resources: { orders: word }
support:
  # check-ignore caller-word-privileged: the word of support
  subjects: { user: directory, word: { word: [support] }, device: { "word": [] } }
  resources: { notes: stored, orders: word }
  conditions: { soft: context.word, told: action.told }
`,
}
const TODAY = {
  'conditions.yaml': '# { told: true } was the form\nsoft: { asserted: true }\n"told": { "asserted": true }\n',
  'callers.yaml': `# check-ignore unused-condition: resources: { orders: word }
support:
  # check-ignore caller-asserted-privileged: the word of support
  subjects: { user: directory, word: { asserted: [support] }, device: { "asserted": [] } }
  resources: { notes: stored, orders: asserted }
  conditions: { soft: context.word, told: action.told }
`,
}
type Texts = typeof FORMER

const PLACES = [
  'callers.yaml:3:18: `caller-word-privileged` is `caller-asserted-privileged` now',
  'callers.yaml:4:40: `word` is `asserted` now',
  'callers.yaml:4:70: `word` is `asserted` now',
  'callers.yaml:5:39: `word` is `asserted` now',
  'conditions.yaml:2:9: `told` is `asserted` now',
  'conditions.yaml:3:12: `told` is `asserted` now',
]

describe('former words of a policy', () => {
  let resources: Resources
  let folder: string
  before(async () => {
    resources = await loadResources(join(ROOT, 'schemas'))
  })
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-former-'))
    await cp(join(ROOT, 'policies'), folder, { recursive: true })
  })
  afterEach(() => removeFolder(folder))

  const write = async (texts: Texts) => {
    for (const [name, text] of Object.entries(texts)) await writeFile(join(folder, name), text)
  }
  const parsed = async (texts: Texts): Promise<Policy> => {
    await write(texts)
    return parsePolicy((await readInPlace(folder)).files(), resources)
  }
  const check = (...flags: readonly string[]) =>
    sallyport(['policy', 'check', folder, '--schemas', join(ROOT, 'schemas'), ...flags], { cwd: ROOT })
  const findings = async () => JSON.parse((await check('--format', 'json')).stdout).findings as readonly Finding[]
  const logged = async (texts: Texts): Promise<readonly (readonly string[])[]> => {
    await write(texts)
    const lines: string[] = []
    const log = createPolicyLog(pino({}, { write: (line) => lines.push(line) }), {} as never)
    await LivePolicy.open({ source: policyFolderSource(folder), resources, observe: (event) => log.report(event) })
    return lines.map((line) => JSON.parse(line).places.map((place: string) => place.replace(`${folder}/`, '')))
  }

  it('mean what the words of today mean', async () => {
    expect(await parsed(FORMER)).to.deep.equal(await parsed(TODAY))
    const other = { ...TODAY, 'callers.yaml': TODAY['callers.yaml'].replace('asserted: [support]', 'asserted: []') }
    expect(await parsed(other), 'negative control').not.to.deep.equal(await parsed(TODAY))
  })

  it('are warnings of policy check, and a former code still suppresses', async () => {
    await write(FORMER)
    const found = (await findings()).filter(({ code }) => code === 'former-word')
    expect(
      found.map(({ file, line, column, message }) => `${nameIn(file)}:${line}:${column}: ${message}`),
    ).to.deep.equal(PLACES.map((place) => place.replace(/is (`[\w-]+`) now/, 'is the former name of $1')))
    expect((await findings()).filter(({ code }) => /^caller|suppression-unknown/.test(code))).to.deep.equal([])
  })

  it('are replaced by --fix, and nothing else in the files is', async () => {
    await write(FORMER)
    const { code, stderr } = await check('--fix')
    expect([code, stderr.replaceAll(`${folder}/`, '')]).to.deep.equal([
      0,
      'callers.yaml: 4 former words replaced\nconditions.yaml: 2 former words replaced\n',
    ])
    for (const [name, text] of Object.entries(TODAY)) expect(await readFile(join(folder, name), 'utf8')).to.equal(text)
    expect((await findings()).filter(({ code }) => code === 'former-word')).to.deep.equal([])
    expect((await check('--fix')).stderr).to.equal('')
  })

  it('are replaced in a file that keeps its rights, and a link to it stays a link', async () => {
    await write(FORMER)
    await rename(join(folder, 'callers.yaml'), join(folder, '.shared'))
    await symlink('.shared', join(folder, 'callers.yaml'))
    await chmod(join(folder, '.shared'), 0o600)
    await check('--fix')
    expect(await readFile(join(folder, '.shared'), 'utf8')).to.equal(TODAY['callers.yaml'])
    expect((await lstat(join(folder, 'callers.yaml'))).isSymbolicLink()).to.equal(true)
    expect((await stat(join(folder, '.shared'))).mode & 0o777).to.equal(0o600)
  })

  it('are left alone in a policy with faults, which the check names', async () => {
    const faulty = { ...FORMER, 'callers.yaml': `${FORMER['callers.yaml']}nobody: {}\n` }
    await write(faulty)
    const { code, stdout } = await check('--fix')
    expect([code, stdout.includes('unknown-role')]).to.deep.equal([1, true])
    for (const [name, text] of Object.entries(faulty)) expect(await readFile(join(folder, name), 'utf8')).to.equal(text)
  })

  it('are left alone where they are written with escapes', async () => {
    const escaped = { ...TODAY, 'conditions.yaml': '# told\nsoft: { "\\x74old": true }\ntold: { told: true }\n' }
    await write(escaped)
    await check('--fix')
    const text = escaped['conditions.yaml'].replace('{ told:', '{ asserted:')
    expect(await readFile(join(folder, 'conditions.yaml'), 'utf8')).to.equal(text)
  })

  it('are named in the log of a server that starts with them', async () => {
    expect(await logged(FORMER)).to.deep.equal([PLACES])
    expect(await logged(TODAY)).to.deep.equal([])
  })
})

interface Finding {
  readonly file: string
  readonly line: number
  readonly column: number
  readonly code: string
  readonly message: string
}

function nameIn(file: string): string {
  return file.slice(file.lastIndexOf('/') + 1)
}
