/** `npm run test:quick`, for those who change something: it runs in every checkout, and looks into each room. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { reaches } from './tiers.ts'

const ROOT = new URL('..', import.meta.url).pathname

/** The one module that finds and installs programs of others. */
const PROGRAMS = 'test/programs.ts'

/** Rooms of the tests, of which at least one file must be quick. */
const PROMISED = [
  'authzen',
  'client',
  'identity',
  'limits',
  'matrix',
  'migrations',
  'openapi',
  'policy',
  'problems',
  'project',
  'request',
  'resources',
  'review',
  'routes',
  'schema',
  'store',
]

describe('the quick tests', () => {
  const { spec, ...settings } = read('.mocharc.quick.json')
  const files = spec as readonly string[]

  it('are files that exist, each once, with the settings of all tests', () => {
    expect(files.filter((file) => !existsSync(join(ROOT, file)))).to.deep.equal([])
    expect(new Set(files).size).to.equal(files.length)
    expect(settings).to.deep.equal(read('.mocharc.json'))
  })

  it('need no program of others, which would be noticed', () => {
    expect(files.filter((file) => reaches(file, PROGRAMS))).to.deep.equal([])
    expect(reaches('test/store/postgres.test.ts', PROGRAMS)).to.equal(true)
    expect(reaches('test/first-steps.test.ts', PROGRAMS)).to.equal(true)
  })

  it('look into the rooms of the tests, and at the whole repository', () => {
    expect(PROMISED.filter((room) => !files.some((file) => file.startsWith(`test/${room}/`)))).to.deep.equal([])
    expect(PROMISED.filter((room) => !readdirSync(join(ROOT, 'test')).includes(room))).to.deep.equal([])
    expect(files).to.include.members(['architecture', 'docs', 'faults', 'rooms'].map((name) => `test/${name}.test.ts`))
    expect(files).to.include('test/policy/language-cases.test.ts')
    expect(files.filter((file) => file.startsWith('test/request/http-contract')).length).to.be.at.least(5)
  })
})

function read(file: string): Readonly<Record<string, unknown>> {
  return JSON.parse(readFileSync(join(ROOT, file), 'utf8'))
}
