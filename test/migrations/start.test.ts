/** A server starts only on objects that fit its schemas, and looks at them only after a change of the schemas. */
import { mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { loadResources } from '../../src/resources/load/load-resources.ts'
import { openSqlite } from '../../src/store/sqlite/open.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { startTestServer, type TestServer } from '../server.ts'
import { failure } from '../store/fixture.ts'

const NOTES = new URL('../../schemas/notes.json', import.meta.url)
const CHECKING = 'checking stored objects, because schemas have changed'
const MEMBER = 'member'

describe('the start of a server', () => {
  let data: string
  const running: TestServer[] = []
  beforeEach(async () => {
    data = await mkdtemp(join(tmpdir(), 'sallyport-start-'))
  })
  afterEach(async () => {
    for (const server of running.splice(0)) await server.stop()
    await removeFolder(data)
  })

  interface Started {
    /** Changes the schema of notes. */
    readonly notes?: (schema: Schema) => void
    readonly migration?: string
    readonly migrate?: boolean
  }

  async function start({ notes = () => {}, migration, migrate = false }: Started = {}): Promise<TestServer> {
    const schema = JSON.parse(await readFile(NOTES, 'utf8'))
    notes(schema)
    const server = await startTestServer({
      env: { DATA_DIR: data },
      files: {
        'schemas/notes.json': JSON.stringify(schema, null, 2),
        ...(migration === undefined ? {} : { 'migrations/0001-notes.yaml': migration }),
      },
      migrate,
      uncheckedBecause: 'the schema of notes is not the one of the OpenAPI document of the checks',
    })
    running.push(server)
    return server
  }

  async function stop(): Promise<void> {
    await running.pop()?.stop()
  }

  /** A note of ann's, made by a client. */
  async function note(server: TestServer, body: object): Promise<string> {
    const token = await server.token('ann', MEMBER)
    const made = await server.ask('POST', '/api/v1/notes', { token, body })
    expect(made.status, made.text).to.equal(201)
    return made.body.id
  }

  const checks = ({ log }: TestServer) => log.filter(({ msg }) => msg === CHECKING)

  it('looks at no object if the schemas are the same, written in another way or with other routes', async () => {
    await note(await start(), { title: 'x' })
    await stop()
    expect(checks(await start())).to.deep.equal([])
    await stop()
    const server = await start({
      notes: (schema) => {
        schema['x-resource'] = { routes: [...schema['x-resource'].routes, { path: '/api/memos', methods: ['GET'] }] }
      },
    })
    expect(checks(server)).to.deep.equal([])
  })

  it('looks once at the objects of changed schemas, and starts if they fit', async () => {
    await note(await start(), { title: 'x' })
    await stop()
    const shorter = (schema: Schema) => {
      schema.properties.title = { type: 'string', maxLength: 5 }
    }
    expect(checks(await start({ notes: shorter }))).to.have.length(1)
    await stop()
    expect(checks(await start({ notes: shorter }))).to.deep.equal([])
  })

  it('looks at no object if the change of the schemas alone tells that all fit', async () => {
    await note(await start(), { title: 'x' })
    await stop()
    const longer = (schema: Schema) => {
      schema.properties.title = { type: 'string', maxLength: 500 }
      schema.properties.colour = { type: 'string' }
    }
    expect(checks(await start({ notes: longer }))).to.deep.equal([])
  })

  it('is refused if an object does not fit, with its id, the reason and what to do', async () => {
    const id = await note(await start(), { title: 'longer than five' })
    await stop()
    const error = await failure(
      start({
        notes: (schema) => {
          schema.properties.title = { type: 'string', maxLength: 5 }
        },
      }),
    )
    expect((error as Error).name).to.equal('MigrationRefused')
    expect((error as Error).message).to.match(
      new RegExp(`^\`${id}\` of \`notes\` does not fit: \`/title\` .*: find all such objects`),
    )
    // Nothing was noted: the old schemas still fit.
    expect(checks(await start())).to.deep.equal([])
  })

  it('looks once at the objects of a database of an earlier version', async () => {
    await note(await start(), { title: 'x' })
    await stop()
    const opened = await openSqlite({
      file: join(data, 'sallyport.db'),
      resources: await loadResources(new URL('../../schemas', import.meta.url).pathname),
      now: () => new Date(),
    })
    await opened.migrations.noteFitted({ digest: '', schemas: '{}' })
    await opened.store.close()
    expect(checks(await start())).to.have.length(1)
  })

  const rename = (schema: Schema) => {
    schema.properties.heading = schema.properties.title
    delete schema.properties.title
    schema.required = ['heading']
  }
  const MIGRATION = 'resources: { notes: [rename: { from: title, to: heading }] }'

  it('is refused while a migration has not run, and names the command; with --migrate it runs first', async () => {
    const first = await start()
    const id = await note(first, { title: 'x' })
    const token = await first.token('ann', MEMBER)
    const before = await first.ask('GET', `/api/v1/notes/${id}`, { token })
    await stop()
    const error = await failure(start({ notes: rename, migration: MIGRATION }))
    expect((error as Error).message).to.equal(
      'the migration `0001-notes` has not run: migrate first, or start with `--migrate`',
    )
    const server = await start({ notes: rename, migration: MIGRATION, migrate: true })
    const after = await server.ask('GET', `/api/v1/notes/${id}`, { token })
    expect(after.body.heading).to.equal('x')
    expect(after.headers.get('etag')).not.to.equal(before.headers.get('etag'))
    expect(Date.parse(after.body.updatedAt)).to.be.above(Date.parse(before.body.updatedAt))
    await stop()
    const records = (await readFile(join(data, 'decisions.log'), 'utf8'))
      .split('\n')
      .filter((line) => line.includes('MIGRATE'))
    expect(records.map((line) => JSON.parse(line).migrated)).to.deep.equal([{ changed: [id], deleted: [] }])
    await start({ notes: rename, migration: MIGRATION })
  })

  it('looks at all objects once after a migration: a server of the old schemas may have written beside it', async () => {
    const old = await start()
    await note(old, { title: 'x' })
    const migrating = await start({ notes: rename, migration: MIGRATION, migrate: true })
    await note(old, { title: 'written too late' })
    await running.splice(running.indexOf(migrating), 1)[0]?.stop()
    await stop()
    const error = await failure(start({ notes: rename, migration: MIGRATION }))
    expect((error as Error).message).to.match(/^`[^`]+` of `notes` does not fit: .*: find all such objects/)
  })

  it('on a database without objects takes all migrations as run', async () => {
    const server = await start({ notes: rename, migration: MIGRATION })
    await note(server, { heading: 'x' })
    await stop()
    await start({ notes: rename, migration: MIGRATION })
  })

  it('is refused for a faulty migration file, with its place', async () => {
    const error = await failure(start({ migration: 'resources: { nots: [drop: [title]] }' }))
    expect((error as Error).message).to.match(
      /0001-notes\.yaml:1:14: no schema declares the resource `nots` .*did you mean `notes`/,
    )
  })

  it('of several instances at once migrates once', async () => {
    const first = await start()
    const ids = [await note(first, { title: 'a' }), await note(first, { title: 'b' })]
    await stop()
    const servers = await Promise.all(
      [1, 2, 3].map(() => start({ notes: rename, migration: MIGRATION, migrate: true })),
    )
    for (const server of servers) {
      for (const id of ids) expect((await server.app.store.get('notes', id))?.version).to.equal(2)
    }
  })
})

interface Schema {
  properties: Record<string, object | undefined>
  required: readonly string[]
  'x-resource': { readonly routes: readonly object[] }
}
