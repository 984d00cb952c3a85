/** blocked.txt: who is refused, and until when. Its faults are in cases/. */

import { expect } from 'chai'
import fc from 'fast-check'
import { isBlocked } from '../../src/decide/decide.ts'
import { isSubject } from '../../src/identity/caller.ts'
import { blockedLine, parseBlocked } from '../../src/policy/parse/parse-blocked.ts'

const NOON = Date.parse('2027-01-31T12:00:00Z')

function blocked(id: string, now: number, ...lines: readonly string[]): boolean {
  return isBlocked(parseBlocked({ name: 'blocked.txt', text: lines.join('\n') }), id, now)
}

describe('blocked.txt', () => {
  it('blocks who is named, exactly', () => {
    const lines = ['# user:bob', 'user:eve # a note', 'user:last,first', 'user:a#b', 'user:']
    const sound = lines.slice(0, 4)
    expect(['eve', 'last,first', 'a#b'].map((id) => blocked(id, NOON, ...sound))).to.deep.equal([true, true, true])
    const others = ['bob', 'Eve', 'eve ', 'user:eve', 'a', 'last', '', 'toString', '__proto__']
    expect(others.filter((id) => blocked(id, NOON, ...sound))).to.deep.equal([])
  })

  it('blocks until the time, whatever the offset it is written in', () => {
    for (const time of ['2027-01-31T12:00:00Z', '2027-01-31T13:00+01:00', '2027-01-31T07:00:00.000-05:00']) {
      const line = `user:eve until=${time}`
      expect([NOON - 1, NOON].map((now) => blocked('eve', now, line))).to.deep.equal([true, false])
    }
  })

  it('blocks by the longest of several lines about one user, in any order', () => {
    const lines = ['user:eve until=2027-01-31T11:00:00Z', 'user:eve', 'user:eve until=2027-01-31T13:00:00Z']
    expect(blocked('eve', NOON + 1e12, ...lines)).to.equal(true)
    expect(blocked('eve', NOON + 1e12, ...lines.toReversed())).to.equal(true)
    const timed = lines.filter((line) => line !== 'user:eve')
    expect([blocked('eve', NOON, ...timed), blocked('eve', NOON, ...timed.toReversed())]).to.deep.equal([true, true])
  })

  it('names an id with spaces plainly only where a time ends it', () => {
    expect(blocked('first last', NOON, 'user:first last until=2027-02-01T00:00:00Z')).to.equal(true)
    expect(() => blocked('first last', NOON, 'user:first last')).to.throw('has a space in it')
  })

  it('takes no list of users for one id', () => {
    for (const line of [
      'user:eve,user:bob',
      'user:eve, user:bob',
      'user:eve, bob',
      'eve,bob',
      'user:eve,',
      'eve, bob',
    ]) {
      expect(() => blocked('eve', NOON, line), line).to.throw(
        'blocked.txt:1:1: the line has a comma between its parts (write each user on a line of its own',
      )
    }
    const end = 'until=2027-02-01T00:00:00Z'
    for (const line of [`user:eve,${end}`, `user:eve, ${end}`]) {
      expect(() => blocked('eve', NOON, line), line).to.throw('put a space, and no comma, before until=')
    }
    for (const line of ['user:eve user:bob', 'user:eve; user:bob', 'user:eve;user:bob']) {
      expect(() => blocked('eve', NOON, line), line).to.throw('the line names several users (write each user on a line')
    }
    expect(blocked('a, user:b', NOON, '"user:a, user:b"')).to.equal(true)
    expect(blockedLine('a,user:b')).to.equal('"user:a,user:b"')
  })

  it('says that a time behind a user lacks `until=`', () => {
    for (const line of [
      'user:eve, 2027-01-01',
      'user:eve 2027-01-01',
      'user:eve,2027-01-01T00:00:00Z',
      'user:eve;2027-01-01T00:00:00+01:00',
      'user:eve until 2027-01-01',
      'user:eve until: 2027-01-01T00:00:00Z',
      'user:eve, till 2027-01-01',
      'user:eve Until=2027-01-01T00:00:00Z',
      'user:eve until = 2027-01-01T00:00:00Z',
      '"user:eve" 2027-01-01',
      '"user:eve", 2027-01-01',
    ]) {
      expect(() => blocked('eve', NOON, line), line).to.throw(
        'blocked.txt:1:1: a time stands behind the user without `until=` ' +
          '(write it as in: user:mallory until=2027-01-31T18:00:00Z)',
      )
    }
    for (const id of ['eve-2027-01-01', '2027-01-01', 'eve,2027', 'until', 'a,until']) {
      expect(blocked(id, NOON, `user:${id}`), id).to.equal(true)
    }
    expect(blocked('eve,2027-01-01', NOON, '"user:eve,2027-01-01"')).to.equal(true)
    for (const id of ['eve,2027-01-01', 'eve;2027-01-01', 'eve;user:bob']) {
      expect(blockedLine(id)).to.equal(`"user:${id}"`)
      expect(blocked(id, NOON, blockedLine(id)), id).to.equal(true)
    }
  })

  it('says that a day of `until=` does not exist', () => {
    const line = 'user:eve until=2027-02-30T00:00:00Z'
    expect(() => blocked('eve', NOON, line)).to.throw("`2027-02-30T00:00:00Z` names a day that doesn't exist")
  })

  it('names any id as a JSON string, with a time and a comment behind it', () => {
    expect(blocked('first last', NOON, '"user:first last"')).to.equal(true)
    expect(blocked(' a # b"c ', NOON, '"user: a # b\\"c " until=2027-02-01T00:00:00Z # why')).to.equal(true)
    expect(blocked('a\u00a0b', NOON, '"user:a\\u00a0b" # c # d')).to.equal(true)
    for (const line of [
      '"user:"',
      '"bob"',
      '"user:a',
      '"user:a" b',
      '"user:\\x"',
      '"user:a"until=2027-02-01T00:00:00Z',
    ]) {
      expect(() => blocked('a', NOON, line), line).to.throw('blocked.txt:1:1')
    }
  })

  it('can be told of whoever can have a credential', () => {
    const anyId = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 128 }).filter(isSubject)
    const hostile = fc.string({
      unit: fc.constantFrom(' ', '#', '"', '\\', '\u00a0', '\u200b', 'a', '='),
      minLength: 1,
      maxLength: 9,
    })
    fc.assert(
      fc.property(fc.oneof(anyId, hostile), (id) => {
        const known = parseBlocked({ name: 'blocked.txt', text: `# before\n${blockedLine(id)}\nuser:other` })
        expect([...known.keys()]).to.have.members([id, 'other'])
      }),
    )
  })
})
