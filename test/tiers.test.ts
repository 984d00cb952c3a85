/** No test is left out: each file of tests is run by one of the commands that `.ci/run` and people run. */
import { globSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { expect } from 'chai'
import Mocha from 'mocha'
import { runs, shareOf, soak } from './runs.ts'
import { leaveOutSame } from './soak-only.ts'
import { reaches, sameInSoak, soakFiles, soakFilesNow } from './tiers.ts'

const ROOT = new URL('..', import.meta.url).pathname
/** Other tests run them, to see how a run of them fails. */
const FAILING = new Set(['test/hanging-tests.ts', 'test/identity/leaking.ts'])
const TIERS = /\.(test|soak|scale)\.ts$/

describe('the tiers of the tests', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Readonly<Record<string, string>> }

  it('are run by one command each, of which .ci/run runs npm test, the checks, and soak, in this order', () => {
    expect(scripts.test).to.equal("mocha 'test/**/*.test.ts'")
    expect(scripts['test:soak']).to.equal('SOAK=1 mocha --config .mocharc.soak.cjs')
    expect(scripts['test:scale']).to.match(/ 'test\/scale\/\*\.scale\.ts'$/)
    const lines = read('.ci/run').split('\n')
    const commands = ['npm test', 'npm run check', 'npm run build', 'npm run test:soak']
    expect(lines.filter((line) => commands.includes(line))).to.deep.equal(commands)
  })

  it('have every file that has a suite, by itself or through the file that imports it', () => {
    const files = globSync('test/**/*.ts', { cwd: ROOT })
    const tests = files.filter((file) => TIERS.test(file))
    const suites = files.filter(
      (file) => /^\s*(describe|it)\(/m.test(read(file)) && !TIERS.test(file) && !FAILING.has(file),
    )
    expect(tests.filter((file) => file.endsWith('.scale.ts') && !file.startsWith('test/scale/'))).to.deep.equal([])
    expect(suites.filter((file) => !tests.some((test) => reaches(test, file)))).to.deep.equal([])
    expect(suites).to.include('test/store/contract-objects.ts')
  })

  it('are run by soak where a file is slow, or asks how much to do, by itself or through another', () => {
    const files = soakFiles()
    expect(globSync('test/**/*.soak.ts', { cwd: ROOT }).filter((file) => !files.includes(file))).to.deep.equal([])
    expect(files).to.include.members(['test/policy/permits.test.ts', 'test/store/sqlite.test.ts'])
    expect(files).not.to.include('test/docs.test.ts')
  })

  it('are run by soak in ten turns, and all of them where they shall be', () => {
    const turns = Array.from({ length: 10 }, (_, seed) => new Set(soakFilesNow(seed)))
    const [one = new Set<string>(), other = new Set<string>()] = turns
    expect([...new Set(turns.flatMap((turn) => [...turn]))].toSorted()).to.deep.equal(soakFiles())
    const isAll = Number(process.env.SOAK_TIMES ?? 1) > 1
    expect([...one.intersection(other)].filter((file) => !file.endsWith('.soak.ts')).length > 0).to.equal(isAll)
    expect([...one].filter((file) => file.endsWith('.soak.ts'))).to.deep.equal(
      globSync('test/**/*.soak.ts', { cwd: ROOT }).toSorted(),
    )
    const config = createRequire(import.meta.url)('../.mocharc.soak.cjs')
    expect(turns.map(({ size }) => size)).to.include(config.spec.length)
  })

  it('do not run twice: soak leaves out what asks no amount, where nothing beside it asks one', () => {
    const [file, same, other] = ['test/policy/rule-lines.test.ts', '() => 1', '() => runs(1)']
    expect(read(file).match(/\bruns\(/g)).to.have.length(1)
    expect(sameInSoak(file, [same, other, other])).to.deep.equal([same])
    expect(sameInSoak(file, [same, '() => runs        (1)']), 'without its types').to.deep.equal([same])
    expect(sameInSoak(file, [same]), 'for any of them').to.deep.equal([])
    expect(sameInSoak('test/store/sqlite.test.ts', [same]), 'through another file').to.deep.equal([])
    expect(sameInSoak('test/image/images.soak.ts', [same]), 'slow').to.deep.equal([])
    const root = new Mocha.Suite('')
    for (const body of [same, other, same]) {
      const suite = Mocha.Suite.create(root, 'a')
      suite.addTest(Object.assign(new Mocha.Test('b'), { file: join(ROOT, file), body }))
    }
    leaveOutSame(root)
    expect(root.suites.map(({ tests }) => tests.map(({ body }) => body))).to.deep.equal([[], [other], []])
    expect(createRequire(import.meta.url)('../.mocharc.soak.cjs').require).to.include('./test/soak-only.ts')
  })

  it('do more in soak than without', () => {
    const soaks = process.env.SOAK !== undefined
    const drawn = Math.ceil(75 * Number(process.env.SOAK_TIMES ?? 1))
    expect([soak('all', 'a part'), runs(300), runs(300, 7)]).to.deep.equal(
      soaks ? ['all', drawn, drawn] : ['a part', 30, 7],
    )
    const shares = [0, 1, 2].map((nth) => shareOf(['a', 'b', 'c', 'd'], nth).join(''))
    if (!soaks) expect(shares).to.deep.equal(['a', '', 'd'])
    else if (drawn > 75) expect(shares).to.deep.equal(['abcd', 'abcd', 'abcd'])
    else expect(new Set(shares)).to.deep.equal(new Set(['ac', 'bd']))
  })
})

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8')
}
