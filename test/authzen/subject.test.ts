/** The subject of an evaluation is the person that the question names, whatever the directory shares between people. */
import { expect } from 'chai'
import type { Pep } from '../../src/server/authzen/pep.ts'
import { subjectOf } from '../../src/server/authzen/trust.ts'

describe('the subject of an evaluation', () => {
  it('is never another person who stands alike, though a directory gives both one account status', async () => {
    const status = { roles: ['member'], disabled: false, deleted: false }
    const pep = {
      trust: { subjects: new Map([['user', { kind: 'directory' }]]) },
      directory: { accountStatus: () => status },
      policy: {},
      now: 0,
      once: (_key: string, find: () => unknown) => find(),
    } as unknown as Pep
    const found = await Promise.all(['alice', 'bob', 'alice'].map((id) => subjectOf(pep, { type: 'user', id })))
    expect(found.map((one) => 'caller' in one && one.caller.id)).to.deep.equal(['alice', 'bob', 'alice'])
  })
})
