/** `schema check` finds what stops a start, with places, in every format. */
import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import shape from '../../docs/schemas/schema-check.schema.json' with { type: 'json' }
import { loadResources } from '../../src/resources/load/load-resources.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { sarifFaults } from '../sarif.ts'
import { schemaCommandRun } from './command.ts'

const SCHEMAS = new URL('../../schemas', import.meta.url).pathname

describe('sallyport schema check', () => {
  let folder: string
  const notes = () => join(folder, 'notes.json')

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-schemas-'))
    await cp(SCHEMAS, folder, { recursive: true })
  })
  afterEach(() => removeFolder(folder))

  async function breakNotes(): Promise<void> {
    const text = await readFile(notes(), 'utf8')
    await writeFile(notes(), text.replace('"maxLength": 200 }', '"maxLen": 200 }'))
  }

  it('finds nothing in the shipped schemas, with exit code 0', async () => {
    expect(await schemaCommandRun('check')).to.deep.equal({ stdout: 'nothing found\n', code: 0 })
    expect(await schemaCommandRun('check', folder)).to.deep.equal({ stdout: 'nothing found\n', code: 0 })
  })

  it('shows each fault with its line and what to do, with exit code 1', async () => {
    await breakNotes()
    await writeFile(join(folder, 'Wrong.json'), '{}')
    const { stdout, code } = await schemaCommandRun('check', folder)
    expect(code).to.equal(1)
    expect(stdout).to.match(
      /notes\.json:20:50: error: the keyword `maxLen` is not supported; did you mean `maxLength`\? \[keyword-unknown\]/,
    )
    expect(stdout).to.include('  = remove it or correct its spelling').and.include("`Wrong` can't be a resource's name")
    expect(stdout).to.include('2 errors, 0 warnings\n')
  })

  for (const [right, wrong, sentence] of [
    ['"maxLength": 200', '"maxlength": 200', 'the keyword `maxlength` is not supported; did you mean `maxLength`?'],
    ['"title": "Note"', '"titel": "Note"', 'the keyword `titel` is not supported; did you mean `title`?'],
    ['"required"', '"requird"', 'the keyword `requird` is not supported; did you mean `required`?'],
    ['"additionalProperties"', '"additionalProperty"', 'did you mean `additionalProperties`?'],
    ['"routes"', '"route"', '`route` is not accepted here; did you mean `routes`?'],
    ['"methods"', '"method"', '`method` is not accepted here; did you mean `methods`?'],
    ['"methods"', '"sunset": "soon", "methods"', '`sunset` must be a day such as 2027-01-31'],
    ['"methods"', '"sunset": "2027-02-30", "methods"', "`2027-02-30` names a day that doesn't exist"],
    ['"methods"', '"view": "A b", "methods"', '`view` must be 1 to 64 letters, digits'],
  ] as const) {
    it(`tells a typing error once, with what is meant: ${wrong}`, async () => {
      const text = await readFile(notes(), 'utf8')
      expect(text).to.include(right)
      await writeFile(notes(), text.replace(right, wrong))
      const { findings } = JSON.parse((await schemaCommandRun('check', folder, '--format', 'json')).stdout)
      expect(findings).to.have.length(1)
      expect(findings[0].message).to.include(sentence)
    })
  }

  it('finds what the server refuses: the same faults', async () => {
    await breakNotes()
    const refused = await loadResources(folder).catch((error) => error)
    const { stdout } = await schemaCommandRun('check', folder, '--format', 'json')
    expect(JSON.parse(stdout).findings).to.deep.equal(refused.diagnostics).and.not.to.deep.equal([])
  })

  it('prints JSON and SARIF of the promised shapes', async () => {
    await breakNotes()
    const validate = new Ajv2020().compile(shape)
    const json = JSON.parse((await schemaCommandRun('check', folder, '--format', 'json')).stdout)
    expect(validate(json), JSON.stringify(validate.errors)).to.equal(true)
    expect(validate({ ...json, more: -1 }), 'a wrong shape').to.equal(false)
    const sarif = JSON.parse((await schemaCommandRun('check', folder, '--format', 'sarif')).stdout)
    expect(sarifFaults(sarif)).to.deep.equal([])
    expect(sarif.runs[0].tool.driver.name).to.equal('sallyport schema check')
    expect(sarif.runs[0].results[0].ruleId).to.equal('keyword-unknown')
  })

  it('refuses a directory that there is not, with one sentence', async () => {
    const { code, stdout, error } = await schemaCommandRun('check', join(folder, 'nowhere'))
    expect([code, stdout]).to.deep.equal([2, ''])
    expect(error?.message).to.match(/nowhere is not a directory: name a directory of schema files$/)
  })

  it('reports a directory without schema files', async () => {
    const empty = await mkdtemp(join(folder, 'empty-'))
    const { code, stdout } = await schemaCommandRun('check', empty)
    expect([code, stdout.includes('[directory-empty]')]).to.deep.equal([1, true])
  })
})
