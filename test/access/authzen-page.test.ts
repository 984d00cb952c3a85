/** docs/authzen.md: says what is so. */
import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { DENIAL_REASONS } from '../../src/server/access/denial-reasons.ts'

const PAGE = readFileSync(new URL('../../docs/authzen.md', import.meta.url), 'utf8')

describe('docs/authzen.md', () => {
  it('has each reason of a denial, and no other', () => {
    const rows = [...(PAGE.split('| reason | means |')[1] ?? '').matchAll(/^\| `([a-z-]+)` \| (.+) \|$/gm)]
    expect(rows.map(([, code, text]) => [code, text])).to.deep.equal(Object.entries(DENIAL_REASONS))
  })
})
