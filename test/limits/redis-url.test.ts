/** REDIS_URL is read whole or refused, and what is shown of it has no secret. */
import { expect } from 'chai'
import fc from 'fast-check'
import { type RedisPlace, readRedisUrl, redisCli, redisUrlFault, shownUrl } from '../../src/limits/redis-url.ts'

const host = fc.record({
  host: fc.oneof(fc.stringMatching(/^[a-z][\w.-]{0,20}$/), fc.ipV4(), fc.ipV6()),
  port: fc.integer({ min: 1, max: 65_535 }),
})
const secret = fc.string({ unit: 'grapheme', maxLength: 20 }).map((text) => (text === '' ? '' : `secret${text}`))
const login = fc
  .record({ username: secret, password: secret })
  .map(({ username, password }) => ({ ...(username && { username }), ...(password && { password }) }))
const nodes = {
  isTls: fc.boolean(),
  hosts: fc.array(host, { minLength: 1, maxLength: 4 }),
  login,
}
const cluster = fc.record({ kind: fc.constant('cluster' as const), ...nodes, path: fc.constant('') })
const sentinels = fc
  .record({ ...nodes, name: fc.stringMatching(/^[\w.-]{1,20}$/), db: fc.nat(15), sentinelLogin: login })
  .map((place) => ({ kind: 'sentinel' as const, ...place, path: `/${place.name}/${place.db}` }))

/** As an operator writes it. */
function written(place: RedisPlace): string {
  const { username = '', password } = place.login
  const word = password === undefined ? '' : `:${encodeURIComponent(password)}`
  const options = new URLSearchParams()
  if (place.kind === 'sentinel') {
    for (const [key, value] of Object.entries(place.sentinelLogin)) options.set(`sentinel_${key}`, value)
  }
  const query = options.size === 0 ? '' : `?${options}`
  return shownUrl(place).replace('//', `//${encodeURIComponent(username)}${word}@`) + query
}

describe('REDIS_URL', () => {
  it('says all of Sentinels and of a Cluster', () => {
    fc.assert(
      fc.property(fc.oneof(cluster, sentinels), (place) => {
        if (place.kind !== 'cluster') expect(redisUrlFault(written(place))).to.equal(undefined)
        expect(readRedisUrl(written(place))).to.deep.equal(place)
      }),
    )
  })

  it('is shown without users and passwords', () => {
    fc.assert(
      fc.property(fc.oneof(cluster, sentinels), (place) => {
        const read = readRedisUrl(written(place))
        const shown = [shownUrl(read), ...read.hosts.map((one) => redisCli(read, one))].join(' ')
        expect(shown).to.not.include('secret')
        // The negative control.
        if (place.login.username) expect(shownUrl(read, '…')).to.include('secret')
      }),
    )
  })

  it('that is wrong has a fault in one sentence, which repeats none of it', () => {
    const texts = fc.oneof(
      fc.string({ maxLength: 30 }),
      fc.constantFrom(':', '@', '/', '?', '#', ',', '%', '[', ']', 'h:1', '/n', '?sentinel_password=x', ':0', ':65536'),
    )
    const faulty = fc
      .tuple(fc.constantFrom('redis', 'rediss', 'redis-sentinel', 'rediss-sentinel', 'valkey'), fc.array(texts))
      .map(([scheme, rest]) => `${scheme}://${rest.join('')}`)
    let refused = 0
    fc.assert(
      fc.property(faulty, (url) => {
        const fault = redisUrlFault(url)
        if (fault === undefined) {
          expect(readRedisUrl(url).hosts).to.not.deep.equal([])
        } else {
          refused += 1
          expect(fault).to.match(/^REDIS_URL [^\n]+$/)
          expect(() => readRedisUrl(url)).to.throw(fault)
        }
      }),
      { numRuns: 1000 },
    )
    expect(refused).to.be.within(300, 999)
  })

  it('has ports by default, and an empty path', () => {
    expect(readRedisUrl('redis-cluster://one,two:7001/').hosts).to.deep.equal([
      { host: 'one', port: 6379 },
      { host: 'two', port: 7001 },
    ])
    expect(readRedisUrl('rediss-sentinel://[::1]/x')).to.deep.include({
      isTls: true,
      name: 'x',
      db: 0,
      hosts: [{ host: '::1', port: 26_379 }],
    })
  })
})
