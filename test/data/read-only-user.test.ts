/** Commands as a user of PostgreSQL who may only read: they read, or say in one sentence which right is missing. */
import { expect } from 'chai'
import { fixOfServer } from '../../src/store/postgres/connections/fix-of-server.ts'
import { type Ended, sallyport } from '../command.ts'
import { ENGINES, type OnEngine } from './each-engine.ts'

const ON_POSTGRES = ENGINES[1]?.[1] ?? expect.fail('no PostgreSQL')

describe('a user of PostgreSQL who may only read', () => {
  let on: OnEngine
  let schema: string
  before(async () => {
    on = await ON_POSTGRES({ demo: true })
    schema = new URL(on.url).searchParams.get('options')?.replace(/.*=/, '') ?? ''
    await on.run('create role reader login')
    await on.run(`grant usage on schema ${schema} to reader; grant select on all tables in schema ${schema} to reader`)
  })
  after(async () => {
    await on.run('drop owned by reader; drop role reader')
    await on.stop()
  })

  const run = (command: string): Promise<Ended> => {
    const env = { ...on.env, DATABASE_URL: on.url.replace('sallyport@', 'reader@') }
    return sallyport(command.split(' '), { cwd: on.server.folder, env })
  }
  const EXPORT = 'data export --as alice --resource notes'

  it('reads what leaves no decision record', async () => {
    for (const command of ['data check', 'user list', 'key list', 'data migrate --status']) {
      const { code, stderr } = await run(command)
      expect([code, stderr], command).to.deep.equal([0, ''])
    }
  })

  it('gets no export without its records, and one sentence with the command that grants the right', async () => {
    const { code, stdout, stderr } = await run(EXPORT)
    expect([code, stdout]).to.deep.equal([2, ''])
    expect(stderr).to.match(
      /^sallyport: the database postgres:\S+ takes no decision records of this command \(permission denied for table turns\), .*: run `psql .*`\n$/,
    )
    expect(stderr).not.to.include('try again later')
    // With just these rights, the export and its records are there.
    const grants = [...stderr.matchAll(/'(?<text>GRANT [^']*)'/g)].map(({ groups }) => groups?.text ?? '')
    expect(grants.map((text) => text.replace(schema, 'S'))).to.deep.equal([
      'GRANT SELECT, UPDATE ON S.turns TO "reader"',
      'GRANT INSERT ON S.outbox TO "reader"',
    ])
    for (const text of grants) await on.run(text)
    const before = (await on.server.decisions()).length
    const exported = await run(EXPORT)
    expect([exported.code, exported.stderr]).to.deep.equal([0, 'notes: 2 objects\n'])
    const records = (await on.server.decisions()).slice(before)
    expect(records.map(({ method, status }) => `${method} ${status}`)).to.deep.equal([
      'COMMAND 202',
      'GET 200',
      'COMMAND 200',
    ])
  })

  it('is told the right that the server names, in the schema that the URL names', () => {
    const fix = (message: string, url = 'postgres://reader@localhost/x') => fixOfServer(url, { code: '42501', message })
    const psql = 'psql -h localhost -p 5432 -U postgres -d x -c'
    expect(fix('permission denied for schema public')).to.equal(
      `${psql} 'GRANT CREATE, USAGE ON SCHEMA public TO "reader"'`,
    )
    expect(fix('permission denied for table objects_notes')).to.equal(
      `${psql} 'GRANT <rights> ON public."objects_notes" TO "reader"'`,
    )
    const other = 'postgres://reader@localhost/x?options=-c%20search_path%3Dsallyport'
    expect(fix('permission denied for table outbox', other)).to.equal(
      `${psql} 'GRANT SELECT, UPDATE ON sallyport.turns TO "reader"' -c 'GRANT INSERT ON sallyport.outbox TO "reader"'`,
    )
  })
})
