/** The commands of docs/matrix-gaps.md run as they are printed there. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { removeFolder } from '../ends-with-tests.ts'
import { newFolder, ROOT } from './predict/suites.ts'

const page = readFileSync(join(ROOT, 'docs/matrix-gaps.md'), 'utf8')
const commands = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(([, text = '']) => text.trim().split('\n'))

describe('docs/matrix-gaps.md', () => {
  it('prints commands that do what the page says', async () => {
    const folder = await newFolder()
    expect(commands.length).to.equal(6)
    for (const command of commands) {
      const { code, stdout, stderr } = await run(command.replaceAll('/tmp/matrix', join(folder, 'matrix')), folder)
      expect(code, `${command}\n${stdout}${stderr}`).to.equal(0)
    }
    const html = readFileSync(join(folder, 'coverage.html'), 'utf8')
    expect(html).to.match(/^<!doctype html>/)
    await removeFolder(folder)
  }).timeout(120_000)

  it('quotes a rule with its line', () => {
    const [, line, rule] = /^policy\.csv:(\d+) +[a-z-]+ +(p, .*) -> /m.exec(page) ?? []
    const rules = readFileSync(join(ROOT, 'policies/policy.csv'), 'utf8').split('\n')
    expect(rules[Number(line) - 1]?.replaceAll(/ +/g, ' ')).to.equal(rule)
  })
})

/** In the checkout, what is written without a folder goes into `folder`. */
function run(command: string, folder: string): Promise<{ code: number; stdout: string; stderr: string }> {
  const there = command
    .replace(/ > (\S+)$/, ` > ${folder}/$1`)
    .replace('npm run -s sallyport --', 'node bin/sallyport.js')
  return new Promise((resolve) => {
    const environment = { ...process.env, PATH: `${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}` }
    execFile('sh', ['-c', there], { cwd: ROOT, env: environment }, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr }),
    )
  })
}
