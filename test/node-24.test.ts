/** What the program adds to Node 24, run here whichever Node this is. */
import { readFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { runInNewContext } from 'node:vm'
import { expect } from 'chai'

const FILE = new URL('../src/base/node-24.ts', import.meta.url)

describe('what Node 24 lacks', () => {
  it('does what ECMAScript 2026 says, where it is missing', async () => {
    const script = stripTypeScriptTypes(await readFile(FILE, 'utf8'))
    const remove =
      'for (const { prototype } of [Map, WeakMap]) { delete prototype.getOrInsert; delete prototype.getOrInsertComputed }'
    const use = `
      const map = new Map([['a', 1], ['none', undefined]]), key = {}, weak = new WeakMap()
      JSON.stringify([
        map.getOrInsert('a', 2), map.getOrInsert('b', 2), map.get('b'), map.getOrInsert('none', 3) ?? 'kept',
        map.getOrInsertComputed('c', (one) => one + one), map.getOrInsertComputed('c', () => { throw new Error() }),
        weak.getOrInsert(key, 5), weak.getOrInsertComputed(key, () => 6),
      ])`
    expect(JSON.parse(runInNewContext(`${remove}\n${script}\n${use}`))).to.deep.equal([
      1,
      2,
      2,
      'kept',
      'cc',
      'cc',
      5,
      5,
    ])
    expect(() => runInNewContext(`${remove}\n${use}`)).to.throw('getOrInsert is not a function')
  })
})
