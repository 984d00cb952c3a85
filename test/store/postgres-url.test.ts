/** DATABASE_URL of PostgreSQL: what is taken, what is refused, and what messages show of it. */
import { expect } from 'chai'
import fc from 'fast-check'
import { readConfig } from '../../src/config/config.ts'
import { ConfigError } from '../../src/config/values.ts'
import { EXAMPLE_URL, readDatabaseUrl } from '../../src/store/open.ts'
import { readPostgresUrl } from '../../src/store/postgres/connections/url.ts'
import { runs } from '../runs.ts'

describe('a URL of PostgreSQL', () => {
  const TAKEN = [
    'postgres://me:secret@localhost/x',
    'postgresql://me:secret@127.0.0.1:5433/x',
    'postgres://me:secret@[::1]/x',
    'postgres://me:secret@localhost/x?host=/run/postgresql',
    'postgres://me:secret@db.example.com/x?sslmode=verify-full&sslrootcert=/ca.pem',
    'postgres://me:secret@db.example.com/x?sslmode=disable',
    'postgres://me:secret@10.0.0.7/x?sslmode=no-verify',
    'postgres://me:secret@localhost/x?target_session_attrs=read-write',
    'postgres://me:secret@localhost:5432,[::1],127.0.0.1:5433/x?target_session_attrs=primary',
    'postgres://me:secret@db1.example.com:5432,db2.example.com/x?target_session_attrs=read-write&sslmode=verify-full',
    'postgres://me:a,b@c,secret@localhost,127.0.0.1/x?target_session_attrs=any',
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
    ['postgres://me:secret@localhost:5432,local host/x?target_session_attrs=any', /not a URL/],
    ['postgres://me:secret@localhost,127.0.0.1:x/x?target_session_attrs=any', /not a URL/],
    ['postgres://me:secret@localhost,,127.0.0.1/x?target_session_attrs=any', /empty name among its hosts/],
    ['postgres://me:secret@localhost,/x?target_session_attrs=any', /empty name among its hosts/],
    ['postgres://me:secret@localhost,127.0.0.1/x', /several hosts; add target_session_attrs=read-write/],
    [
      'postgres://me:secret@localhost/x?target_session_attrs=standby',
      /"standby"; set it to one of read-write, primary/,
    ],
    ['postgres://me:secret@localhost,db.example.com/x?target_session_attrs=any', /without TLS/],
    ['postgres://me:secret@localhost,127.0.0.1/x?target_session_attrs=any&host=%2Frun', /and the parameter host/],
    ['postgres://me:secret@localhost/x?host=localhost,127.0.0.1', /several hosts in the parameter host/],
    ['postgres://me:secret@localhost,127.0.0.1/?target_session_attrs=any', /names no database/],
  ] as const
  for (const [url, why] of REFUSED) {
    it(`is refused, without a word of its password: ${url}`, () => {
      const read = readDatabaseUrl(url)
      expect('fault' in read && read.fault).to.match(why)
      expect(JSON.stringify(read)).to.not.include('secret')
    })
  }

  it('that lacks a parameter is shown as it was written, with the parameter and without its password', () => {
    const target = 'target_session_attrs=read-write'
    const [two, far] = ['127.0.0.1:5432,[::1]:5433', 'db1.example.com:5432,db2.example.com']
    for (const [given, shown] of [
      [`postgres://me:secret@${two}/x`, `postgres://me:<password>@${two}/x?${target}`],
      [`postgresql://${two}/x?sslmode=disable`, `postgresql://${two}/x?sslmode=disable&${target}`],
      [`postgres://me@${far}/x`, `postgres://me@${far}/x?sslmode=verify-full&${target}`],
      [
        `postgres://me:a:secret@b@${far}/x?${target}`,
        `postgres://me:<password>@${far}/x?${target}&sslmode=verify-full`,
      ],
      ['postgres://me:secret@db.example.com/x', 'postgres://me:<password>@db.example.com/x?sslmode=verify-full'],
      ['postgres://me:secret@localhost/x?host=db', 'postgres://me:<password>@localhost/x?host=db&sslmode=verify-full'],
      // No parameter mends these, or nobody can tell where the password ends.
      [`postgres://me:secret@${two}/`, undefined],
      [`postgres://me:secret@${two}/x?password=secret`, undefined],
      ['postgres://me:5/secret@db.example.com', undefined],
      ['postgres://me:secret@local host,localhost/x', undefined],
    ] as const) {
      const read = readDatabaseUrl(given)
      expect('fault' in read && read.completed, given).to.equal(shown)
      const fix = shown === undefined ? EXAMPLE_URL : `'${shown}'`
      const refusal = () => readConfig({ DATABASE_URL: given })
      expect(refusal, given).to.throw(ConfigError).with.property('fix', `DATABASE_URL=${fix} {again}`)
    }
  })

  it('with several hosts is for the driver a URL with each host, and for messages one without the password', () => {
    const name = fc.stringMatching(/^[a-z][a-z0-9.-]{0,8}[a-z0-9]$/)
    const host = fc
      .tuple(name, fc.option(fc.integer({ min: 1, max: 65_535 })))
      .map(([to, port]) => `${to}${port === null ? '' : `:${port}`}`)
    const password = fc.stringMatching(/^secret[a-z0-9,:;@=&%]{0,8}$/).map((text) => text.replaceAll('%', '%25'))
    const others = fc.subarray(['sslmode=disable', 'sslcert=/a', 'options=-c%20a%3Db'], { minLength: 0 })
    fc.assert(
      fc.property(
        fc.array(host, { minLength: 1, maxLength: 4 }),
        password,
        others,
        fc.nat(3),
        (hosts, word, rest, at) => {
          const parameters = rest.toSpliced(at, 0, 'target_session_attrs=read-write')
          const url = (to: string, given: readonly string[]) =>
            `postgres://me:${word}@${to}/x${given.length > 0 ? '?' : ''}${given.join('&')}`
          const { each, target } = readPostgresUrl(url(hosts.join(), parameters))
          expect(target).to.equal('read-write')
          expect(each).to.deep.equal(hosts.map((to) => url(to, rest)))
          const read = readDatabaseUrl(
            url(hosts.join(), [...parameters.filter((one) => !one.startsWith('sslmode')), 'sslmode=disable']),
          )
          expect(read).to.deep.include({ name: `postgres://me@${hosts.join()}/x`, hasPassword: true })
        },
      ),
      { numRuns: runs(100) },
    )
  })
})
