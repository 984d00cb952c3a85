/** DATABASE_URL of PostgreSQL: what is taken, what is refused, and what messages show of it. */
import { expect } from 'chai'
import { readDatabaseUrl } from '../../src/store/open.ts'

describe('a URL of PostgreSQL', () => {
  const TAKEN = [
    'postgres://me:secret@localhost/x',
    'postgresql://me:secret@127.0.0.1:5433/x',
    'postgres://me:secret@[::1]/x',
    'postgres://me:secret@localhost/x?host=/run/postgresql',
    'postgres://me:secret@db.example.com/x?sslmode=verify-full&sslrootcert=/ca.pem',
    'postgres://me:secret@db.example.com/x?sslmode=disable',
    'postgres://me:secret@10.0.0.7/x?sslmode=no-verify',
  ]
  for (const url of TAKEN) {
    it(`is taken: ${url}`, () => {
      const read = readDatabaseUrl(url)
      expect(read).to.include({ engine: 'postgres', location: url })
      expect('name' in read && read.name).to.match(/^postgres:\/\/me@[^?]*\/x$/)
    })
  }

  const REFUSED = [
    ['postgres://me:secret@db.example.com/x', /without TLS/],
    ['postgres://me:secret@127.example.com/x', /without TLS/],
    ['postgres://me:secret@localhost/x?host=db.example.com', /without TLS/],
    ['postgres://me:secret@localhost/x?sslmode=prefer', /sslmode/],
    ['postgres://me:secret@localhost/x?statement_timeout=0', /unknown parameter/],
    ['postgres://me:secret@localhost/', /names no database/],
    ['postgres://me:secret@local host/x', /not a URL/],
  ] as const
  for (const [url, why] of REFUSED) {
    it(`is refused, without a word of its password: ${url}`, () => {
      const read = readDatabaseUrl(url)
      expect('fault' in read && read.fault).to.match(why)
      expect(JSON.stringify(read)).to.not.include('secret')
    })
  }
})
