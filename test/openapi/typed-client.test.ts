/** Types that a generator makes of the document: questions of every kind, and objects of any members, compile with them. */
import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { errorLines, expectedLines } from '../compile-errors.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { type Document, read, shipped, wholeDocument } from './fixture.ts'

const run = promisify(execFile)

const CLIENT = new URL('../../examples/typescript-client/', import.meta.url).pathname

const QUESTIONS = 'typed-questions.ts'

const NOTES = JSON.parse(read('schemas/notes.json'))

const FREE_FORM = {
  ...NOTES,
  properties: {
    ...NOTES.properties,
    labels: { type: 'object' },
    deep: { type: 'array', items: { type: ['object', 'null'], properties: {}, maxProperties: 3 } },
  },
}

const FILES = { 'schemas/notes.json': JSON.stringify(FREE_FORM) }

describe('a client with types of the document', () => {
  let document: Document
  let server: TestServer

  before(async () => {
    document = await wholeDocument(shipped(FILES))
    await mkdir(`${CLIENT}generated`, { recursive: true })
    await writeFile(`${CLIENT}generated/questions.json`, JSON.stringify(document))
    const files = ['generated/questions.json', '--output', 'generated/questions.d.ts']
    await run(process.execPath, ['node_modules/.bin/openapi-typescript', ...files, '--default-non-nullable=false'], {
      cwd: CLIENT,
    })
    server = await startTestServer({ demo: true, files: FILES })
  })
  after(() => server.stop())

  it('compiles a question of each kind, and none that lacks something', async () => {
    expect(expectedLines(QUESTIONS)).to.have.length(6)
    expect(await errorLines(QUESTIONS)).to.deep.equal(expectedLines(QUESTIONS))
  })

  it('gets an answer to each', async () => {
    const { askEachKind, keepAnything } = await import(new URL(`../compile/${QUESTIONS}`, import.meta.url).href)
    const statuses = await askEachKind(server.url, await server.token('shop', 'pdp-client'))
    expect(statuses).to.deep.equal([200, 200, 200, 200, 200, 200, 200, 200])
    const kept = await keepAnything(server.url, await server.token('alice', 'member'))
    expect(kept).to.deep.equal({ labels: { any: 1 }, deep: [{ a: {} }, null] })
  })

  it('has no object without members, anywhere in the document', () => {
    expect(withoutMembers(document)).to.deep.equal([])
    const closed = { a: { items: { type: 'object' } }, b: { type: ['null', 'object'], properties: {} } }
    expect(withoutMembers(closed)).to.deep.equal(['/a/items', '/b'])
  })

  it('opens no object that another schema of the file would then no longer close', async () => {
    const base = { type: 'object', minProperties: 1 }
    const pair = { type: 'object', allOf: [base], properties: { a: {} }, unevaluatedProperties: false }
    const closed = { ...NOTES, properties: { ...NOTES.properties, pair } }
    const { components } = await wholeDocument(shipped({ 'schemas/notes.json': JSON.stringify(closed) }))
    expect(components.schemas.Note.properties.pair).to.deep.equal(pair)
  })
})

/** What would become `Record<string, never>`: an object for which nothing says which members it may have. */
function withoutMembers(part: Document, place = ''): readonly string[] {
  if (typeof part !== 'object' || part === null) return []
  const inner = Object.entries(part).flatMap(([key, value]) => withoutMembers(value, `${place}/${key}`))
  if (![part.type].flat().includes('object') || Object.keys(part.properties ?? {}).length > 0) return inner
  const says = ['additionalProperties', 'patternProperties', 'allOf', 'anyOf', 'oneOf'].some((name) => name in part)
  return says ? inner : [place, ...inner]
}
