/** No test is left out: each file of tests is run by one of the commands that `.ci/run` and people run. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { runs, soak } from './runs.ts'
import { reaches, soakFiles } from './tiers.ts'

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

  it('do all in soak, and a part without', () => {
    const soaks = process.env.SOAK !== undefined
    expect([soak('all', 'a part'), runs(300), runs(300, 7)]).to.deep.equal(
      soaks ? ['all', 300, 300] : ['a part', 30, 7],
    )
  })
})

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8')
}
