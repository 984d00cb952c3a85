/** Passwords are kept as salted scrypt hashes, verified off the event loop, with the same work whoever asks. */
import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import { createPasswords, generatePassword, Overcrowded, passwordFault } from '../../src/identity/sign-in/password.ts'

/** Cheap, so that random tests can try many. */
const CHEAP = { ln: 4, r: 1, p: 1 }

describe('a password', () => {
  const cheap = createPasswords(CHEAP)

  it('is kept as scrypt of a stated cost, with 16 bytes of salt that nobody else has', async () => {
    const passwords = createPasswords()
    const hashes = await Promise.all([passwords.hash('correct horse'), passwords.hash('correct horse')])
    for (const hash of hashes) expect(hash).to.match(/^\$scrypt\$ln=15,r=8,p=3\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
    expect(hashes[0]).not.to.equal(hashes[1])
    expect(await passwords.verify('correct horse', hashes[0])).to.equal(true)
    expect(await passwords.verify('correct horsf', hashes[0])).to.equal(false)
  })

  it('is right when it is the same text, however its characters are composed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), async (one, other) => {
        const hash = await cheap.hash(one.normalize('NFD'))
        expect(await cheap.verify(one.normalize('NFC'), hash)).to.equal(true)
        expect(await cheap.verify(other, hash)).to.equal(one.normalize('NFC') === other.normalize('NFC'))
      }),
      { numRuns: 50 },
    )
  })

  it('is never right without a hash, or with one that is damaged', async () => {
    const hash = await cheap.hash('correct horse')
    for (const damaged of [undefined, '', 'correct horse', hash.slice(0, -1), hash.replace('scrypt', 'argon2id')]) {
      expect(await cheap.verify('correct horse', damaged), damaged).to.equal(false)
    }
  })

  it('of an older cost is verified at that cost, and known to be outdated', async () => {
    const hash = await createPasswords({ ln: 3, r: 1, p: 2 }).hash('correct horse')
    expect(await cheap.verify('correct horse', hash)).to.equal(true)
    expect(cheap.isOutdated(hash)).to.equal(true)
    expect(cheap.isOutdated(await cheap.hash('correct horse'))).to.equal(false)
  })

  it('takes the same work where there is none to compare with', async () => {
    const passwords = createPasswords()
    const hash = await passwords.hash('correct horse')
    const cpuOf = async (kept: string | undefined) => {
      const before = process.cpuUsage()
      await passwords.verify('wrong horse', kept)
      const { user } = process.cpuUsage(before)
      return user
    }
    const [unknown, known] = [await cpuOf(undefined), await cpuOf(hash)]
    // A look-up alone would be a thousandth of it.
    expect(unknown).to.be.greaterThan(known / 4)
    expect(await cpuOf(await cheap.hash('correct horse'))).to.be.lessThan(known / 4)
  })

  it('is hashed beside the event loop', async () => {
    let turns = 0
    let done = false
    const hashing = createPasswords()
      .hash('correct horse')
      .then(() => {
        done = true
      })
    while (!done) {
      await setImmediate()
      turns += 1
    }
    await hashing
    expect(turns).to.be.greaterThan(5)
  })

  it('waits for its turn, and is sent away when too many wait', async () => {
    const passwords = createPasswords(CHEAP)
    const all = await Promise.allSettled(Array.from({ length: 40 }, () => passwords.hash('correct horse')))
    const refused = all.filter((one) => one.status === 'rejected')
    expect(refused.map(({ reason }) => reason instanceof Overcrowded)).to.deep.equal(Array(6).fill(true))
    expect(await passwords.hash('correct horse')).to.be.a('string')
  })

  it('has a place to wait in when strangers fill theirs, and the two lines take turns', async () => {
    const passwords = createPasswords(CHEAP)
    const order: string[] = []
    const hash = (name: string, line?: 'known') =>
      passwords.hash('correct horse', line).then(
        () => order.push(name),
        () => order.push(`${name} was sent away`),
      )
    const strangers = Array.from({ length: 40 }, () => hash('stranger'))
    const known = Array.from({ length: 33 }, () => hash('known', 'known'))
    await Promise.all([...strangers, ...known])
    expect(order.filter((one) => one === 'stranger was sent away')).to.have.length(6)
    expect(order.filter((one) => one === 'known was sent away')).to.have.length(1)
    const served = order.filter((one) => !one.endsWith('away'))
    // The two that were running when the lines began to form were strangers.
    const [first, last] = [served.slice(0, 34), served.slice(-34)]
    for (const half of [first, last]) {
      expect(half.filter((one) => one === 'known').length).to.be.within(14, 18)
    }
  })

  for (const [text, fault] of [
    ['twelve chars', undefined],
    ['eleven char', 'must have at least 12 characters'],
    // Composed, these are eleven.
    ['e\u0301'.repeat(11), 'must have at least 12 characters'],
    ['🔑'.repeat(12), undefined],
    ['aaaaaaaaaaaa', undefined],
    ['x'.repeat(1024), undefined],
    ['x'.repeat(1025), 'must have at most 1024 characters'],
    ['\ud800'.repeat(12), 'must be valid Unicode'],
  ] as const) {
    it(`of ${[...text].length} characters ${fault ?? 'is accepted'} (${JSON.stringify(text.slice(0, 12))})`, () => {
      expect(passwordFault(text)).to.equal(fault)
    })
  }

  it('that is generated is long enough, and never the same', () => {
    const made = Array.from({ length: 100 }, generatePassword)
    expect(new Set(made).size).to.equal(100)
    for (const one of made) expect(one).to.match(/^([a-z2-9]{5}-){3}[a-z2-9]{5}$/)
    expect(passwordFault(made[0] ?? '')).to.equal(undefined)
  })
})
