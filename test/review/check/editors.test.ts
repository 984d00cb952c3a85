/** Editors find the JSON Schema of each shipped YAML file by its first line, and the file keeps to it. */
import { readdirSync, readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { parse } from 'yaml'

const POLICIES = new URL('../../../policies/', import.meta.url)

describe('a shipped YAML file', () => {
  const files = readdirSync(POLICIES).filter((name) => name.endsWith('.yaml'))

  it('is one of five', () => {
    expect(files.sort()).to.deep.equal(['guarantees.yaml', 'limits.yaml', 'ownership.yaml', 'roles.yaml', 'views.yaml'])
  })

  it('has a sixth kind that docs/decision-log.md shows', () => {
    const page = readFileSync(new URL('../docs/decision-log.md', POLICIES), 'utf8')
    const [, text = ''] = /```yaml\n([^`]*)```/.exec(page) ?? []
    expect(fitOf('masks.yaml', text)(parse(text))).to.equal(true)
  })

  it('has a seventh kind that docs/policies.md shows', () => {
    const page = readFileSync(new URL('../docs/policies.md', POLICIES), 'utf8')
    const [, text = ''] = /^(# conditions\.yaml (?:.+\n)+)/m.exec(page) ?? []
    const comment = '# yaml-language-server: $schema=../src/policy/schemas/conditions.schema.json\n'
    expect(text.split('\n').length).to.be.greaterThan(5)
    expect(fitOf('conditions.yaml', comment + text)(parse(text))).to.equal(true)
  })

  it('has an eighth kind that docs/authzen.md shows', () => {
    const page = readFileSync(new URL('../docs/authzen.md', POLICIES), 'utf8')
    const [, text = ''] = /```yaml\n([^`]*)```/.exec(page) ?? []
    expect(fitOf('callers.yaml', text)(parse(text))).to.equal(true)
  })

  it('has another guarantees.yaml in docs/guarantees.md', () => {
    const page = readFileSync(new URL('../docs/guarantees.md', POLICIES), 'utf8')
    const [, text = ''] = /```yaml\n(# yaml-language-server: \$schema=\S+guarantees[^`]*)```/.exec(page) ?? []
    expect(fitOf('guarantees.yaml', text)(parse(text))).to.equal(true)
  })

  for (const name of files) {
    it(`names the schema that it keeps to: ${name}`, () => {
      const text = readFileSync(new URL(name, POLICIES), 'utf8')
      const fits = fitOf(name, text)
      expect(fits(parse(text))).to.equal(true)
      expect(fits('nothing of the kind')).to.equal(false)
    })
  }
})

/** The comment is the one that the YAML language server reads, the engine of most editors. */
function fitOf(name: string, text: string): (value: unknown) => boolean {
  const [, path = ''] = /^# yaml-language-server: \$schema=(\S+)\n/.exec(text) ?? []
  const url = new URL(path, new URL(name, POLICIES))
  const validate = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(JSON.parse(readFileSync(url, 'utf8')))
  return (value) => validate(value)
}
