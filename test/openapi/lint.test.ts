/** A linter that no one here wrote finds nothing in the documents of odd schemas either; it can find something. */
import { execFile } from 'node:child_process'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { removeFolder } from '../ends-with-tests.ts'
import { documentFor, read, shipped, wholeDocument } from './fixture.ts'

const run = promisify(execFile)

const ROOT = new URL('../../', import.meta.url).pathname

const NOTES = JSON.parse(read('schemas/notes.json'))

/** References into itself, fields of every shape, and routes of every kind. */
const ODD = {
  ...NOTES,
  title: 'Odd / note',
  'x-resource': {
    routes: [
      { path: '/odd', methods: ['GET', 'POST'], deprecated: '2026-12-01', successor: '/odd-2' },
      { path: '/odd-2', methods: ['GET'], found: '/odd' },
      { path: '/odd/{id}', methods: ['GET', 'PUT', 'PATCH', 'DELETE'], sunset: '2030-01-01', precondition: 'required' },
      { path: '/odd/{id}/title', methods: ['GET'], action: 'peek' },
      { path: '/my/odd', methods: ['GET', 'PATCH'], object: 'caller' },
    ],
  },
  properties: {
    ...NOTES.properties,
    tree: { $ref: '#/$defs/node' },
    again: { $ref: '#/properties/title' },
    anything: true,
    maybe: { type: ['string', 'null'], maxLength: 5, 'x-index': true },
    size: { type: 'integer', minimum: 0, 'x-index': true },
    open: { type: 'boolean', default: true, 'x-index': true },
    either: { oneOf: [{ type: 'string' }, { $ref: '#/$defs/node' }] },
  },
  $defs: {
    ...NOTES.$defs,
    node: {
      type: 'object',
      properties: { children: { type: 'array', items: { $ref: '#/$defs/node' } } },
      additionalProperties: false,
    },
  },
}

describe('the linter', () => {
  let folder: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-lint-'))
  })
  after(() => removeFolder(folder))

  it('finds neither error nor warning in the documents of odd schemas', async () => {
    const odd = shipped({ 'schemas/notes.json': JSON.stringify(ODD) })
    expect(await lint({ whole: await wholeDocument(odd), member: await documentFor(odd, 'member') })).to.equal('')
  })

  it('finds what is wrong, and a mere warning of the recommended rules fails too', async () => {
    const document = await wholeDocument(shipped())
    expect(await lint({ broken: { ...document, openapi: 'x' } })).to.not.equal('')
    expect(await lint({ careless: { ...document, tags: [{ name: 'notes' }] } })).to.include('tag-description')
  })

  /** What it printed where it failed. */
  async function lint(documents: Readonly<Record<string, object>>): Promise<string> {
    const files = Object.keys(documents).map((name) => join(folder, `${name}.json`))
    await Promise.all(Object.values(documents).map((one, i) => writeFile(files[i] ?? '', JSON.stringify(one))))
    const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
    const command = [join(ROOT, 'node_modules/@redocly/cli/bin/cli.js'), 'lint', '--config', join(ROOT, 'redocly.yaml')]
    return run(process.execPath, [...command, ...files], { env }).then(
      () => '',
      ({ stdout, stderr }: { stdout: string; stderr: string }) => stdout + stderr,
    )
  }
})
