/** What the files of the images promise, before an engine builds them. images.soak.ts builds and runs them. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { blocksOf, sectionOf } from '../documented.ts'
import { strayFiles } from './checks.ts'
import { flagsOf, SETTINGS } from './compose.ts'

const ROOT = new URL('../..', import.meta.url).pathname
const TEMPLATE = join(ROOT, 'templates/project')
const POWERLESS = ['--read-only', '--cap-drop ALL', '--security-opt no-new-privileges', '--stop-timeout 20']

for (const [name, folder, ignored, compose, service] of [
  ['sallyport', ROOT, '.dockerignore', 'docker-compose.yml', 'api-1'],
  ['a project', TEMPLATE, '_dockerignore', 'compose.yml', 'api'],
] as const) {
  describe(`the image of ${name}`, () => {
    const lines = readFileSync(join(folder, 'Dockerfile'), 'utf8').split('\n')

    it('is no root, ends with SIGTERM, and starts the server without npm or a shell', () => {
      expect(lines).to.include.members(['USER 1000:1000', 'STOPSIGNAL SIGTERM', 'VOLUME /data', 'EXPOSE 3000'])
      expect(lines.findLast((line) => line.startsWith('CMD'))).to.match(/^CMD \["node", "[a-z_/]+\.js", "serve"\]$/)
      expect(lines.join('\n')).to.match(/^HEALTHCHECK .*\\\n {2}CMD \["node", "-e", ".*\/livez'\)/m)
    })

    it('is built of named files alone, and has no packages of development', () => {
      const rules = readFileSync(join(folder, ignored), 'utf8')
        .split('\n')
        .filter((line) => /^[^#]/.test(line))
      expect(rules[0]).to.equal('*')
      expect(rules.slice(1).filter((rule) => !rule.startsWith('!'))).to.deep.equal([])
      const paths = rules.slice(1).flatMap((rule) => globSync(rule.slice(1), { cwd: ROOT }))
      const files = paths.map((path) => ({ path: `/app/${path}`, bytes: 0 }))
      const dev = new Set<string>()
      expect(strayFiles(files, { allowed: new Set(paths.map((path) => path.split('/')[0] ?? '')), dev })).to.deep.equal(
        [],
      )
      expect(paths.filter((path) => /^(test|data|\.env)/.test(path))).to.deep.equal([])
      expect(lines).to.include('RUN npm ci --omit=dev --ignore-scripts')
    })

    it('runs without powers on a read-only file system, as its compose file says', async () => {
      const flags = (await flagsOf(join(folder, compose), service, SETTINGS)).join(' ')
      for (const flag of POWERLESS) expect(flags).to.include(flag)
    })
  })
}

describe('docs/operating.md, on containers,', () => {
  it('runs the image with the settings of compose', async () => {
    const page = blocksOf(sectionOf(readFileSync(join(ROOT, 'docs/operating.md'), 'utf8'), 'Containers'))
    expect(page[1]?.commands[0]).to.include(
      ` ${(await flagsOf(join(TEMPLATE, 'compose.yml'), 'api', SETTINGS)).join(' ')} `,
    )
  })

  it('has an image of a project that is not made of a policy with mistakes', () => {
    expect(readFileSync(join(TEMPLATE, 'Dockerfile'), 'utf8')).to.match(/^RUN node \S+ policy check$/m)
  })
})
