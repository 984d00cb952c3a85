/**
 * However many lines of a policy are bad, the first findings are told and the others counted, in time that grows as the
 * files do. The bounds are so wide that only a fault could break them: findings looked for line by line took minutes.
 */
import { cp, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { pino } from 'pino'
import { FileError } from '../../../src/base/diagnostic.ts'
import { LivePolicy } from '../../../src/policy/live/live-policy.ts'
import { policyFolderSource } from '../../../src/policy/policy-source.ts'
import { loadResources, readSchemas } from '../../../src/resources/load/load-resources.ts'
import type { Resources } from '../../../src/resources/resource.ts'
import { Comparer } from '../../../src/server/policy-changes/comparer.ts'
import { createPolicyParser } from '../../../src/server/policy-changes/parse-apart.ts'
import { createPolicyLog, policyDetail } from '../../../src/server/policy-changes/policy-log.ts'
import { CHECK_FORMATS, checkPolicy } from '../../../src/tools/check/check-policy.ts'
import { loadPolicy } from '../../../src/tools/load-policy.ts'
import { removeFolder } from '../../ends-with-tests.ts'

const { text: findingsText, json: findingsJson, sarif: findingsSarif } = CHECK_FORMATS

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const MEGABYTE = 2 ** 20
const SHOWN = 1000

const many = (count: number, line: (i: number) => string) => Array.from({ length: count }, (_, i) => line(i)).join('')

/** A file each, with how many findings it has at least. */
const BAD: Readonly<Record<string, readonly [file: string, text: string, atLeast: number]>> = {
  'lines that are no rules': ['policy.csv', many(500_000, () => 'x\n'), 500_000],
  'rules whose names are all unknown': [
    'policy.csv',
    many(100_000, (i) => `p, nob${i}, notes, raed, ownr, pulbic, allow\n`),
    400_000,
  ],
  'invisible characters': ['policy.csv', many(100_000, () => '# \u00a0\n'), 100_000],
  'roles that inherit themselves': ['policy.csv', many(100_000, () => 'g, member, member\n'), 100_000],
  'a rule that stands again and again': [
    'policy.csv',
    many(50_000, () => 'p, member, notes, read, owner, *, allow\n'),
    49_999,
  ],
  'a role link that stands again and again': ['policy.csv', many(100_000, () => 'g, support, member\n'), 99_999],
  'blocked lines without a user': ['blocked.txt', many(100_000, () => 'x\n'), 100_000],
  'blocks that have ended': ['blocked.txt', many(50_000, (i) => `user:u${i} until=2020-01-01T00:00:00Z\n`), 50_000],
  'roles of a wrong shape': ['roles.yaml', many(40_000, (i) => `r${i}: {x: 1}\n`), 40_000],
  'a role that stands again and again': ['roles.yaml', many(20_000, () => 'r: {x: 1}\n'), 19_999],
  'views of unknown fields': ['views.yaml', `notes: {${many(20_000, (i) => `v${i}: [zz], `)}}\n`, 20_000],
}

describe('a policy with very many bad lines', () => {
  let resources: Resources
  let folder: string
  before(async () => {
    resources = await loadResources(join(ROOT, 'schemas'))
  })
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-bad-'))
    await cp(join(ROOT, 'policies'), folder, { recursive: true })
  })
  afterEach(() => removeFolder(folder))

  for (const [name, [file, text, atLeast]] of Object.entries(BAD)) {
    it(`is checked, and told by its first findings: ${name}`, async () => {
      await writeFile(join(folder, file), text)
      const before = process.threadCpuUsage()
      const report = await checkPolicy({ policies: folder, resources, users: undefined, now: new Date() })
      const output = { text: findingsText(report), json: findingsJson(report), sarif: findingsSarif(report) }
      const { user, system } = process.threadCpuUsage(before)
      expect((user + system) / 1e6, 'seconds').to.be.lessThan(20)
      expect(report.findings).to.have.length(SHOWN)
      expect(report.errors + report.warnings)
        .to.be.at.least(atLeast)
        .and.to.equal(SHOWN + report.more)
      for (const [format, told] of Object.entries(output)) expect(told.length, format).to.be.lessThan(MEGABYTE)
      expect(output.text).to.contain(`\nand ${report.more} more; fix these first\n`)
      expect(JSON.parse(output.json)).to.include({ more: report.more, errors: report.errors })
      expect(output.sarif).to.contain(`and ${report.more} more findings`)
    })
  }

  it('shows every error before any warning', async () => {
    await writeFile(
      join(folder, 'blocked.txt'),
      many(5000, () => 'user:a\n'),
    )
    await writeFile(
      join(folder, 'policy.csv'),
      many(600, () => 'x\n'),
    )
    const { findings, errors, warnings, more } = await checkPolicy({
      policies: folder,
      resources,
      users: undefined,
      now: new Date(),
    })
    expect(findings.filter(({ severity }) => severity === 'error')).to.have.length(600)
    expect({ errors, warnings, more }).to.deep.equal({ errors: 600, warnings: 4999, more: 4599 })
  })

  it('stops a command in a hundred lines', async () => {
    await writeFile(
      join(folder, 'policy.csv'),
      many(50_000, () => 'x\n'),
    )
    const error = await loadPolicy(folder, resources).catch((caught: unknown) => caught)
    expect(error).to.be.instanceOf(FileError)
    const lines = (error as FileError).message.split('\n')
    expect([lines.length, lines.at(-1)]).to.deep.equal([101, 'and 49900 more'])
  })

  it('is refused by a running server in one short line, and readiness tells how many there are', async () => {
    const { sources: schemas } = await readSchemas(join(ROOT, 'schemas'))
    const lines: string[] = []
    const log = pino({}, { write: (line: string) => lines.push(line) })
    const policyLog = createPolicyLog(log, new Comparer({ schemas }))
    const policy = await LivePolicy.open({
      source: policyFolderSource(folder),
      resources,
      observe: (event) => policyLog.report(event),
      parse: createPolicyParser({ resources, schemas }),
    })
    await writeFile(join(folder, 'policy.csv'), `${many(500_000, () => 'x\n')}# end of policy\n`)
    await policy.reload()
    await policyLog.close()
    expect(lines).to.have.length(1)
    expect(lines[0]?.length).to.be.lessThan(10_000)
    expect(JSON.parse(lines[0] ?? '')).to.include({ more: 500_000 - 20, level: 50 })
    expect(policyDetail(policy)).to.match(
      new RegExp(`^the files were refused: policy\\.csv:1:1 \\[rule-kind\\] and ${500_000 - 1} more; `),
    )
  })
})
