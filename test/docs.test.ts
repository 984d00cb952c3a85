/** The pages refer to files that are there, and a decision's number means one decision. */
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const DECISIONS = readdirSync(join(ROOT, 'docs/decisions'))
const PAGES = ['README.md', ...globSync('docs/**/*.md', { cwd: ROOT })]

/** Those names that share their four digits with an earlier one. */
function reused(names: readonly string[]): readonly string[] {
  return [...Map.groupBy(names, (name) => name.slice(0, 4)).values()].flatMap(([, ...others]) => others)
}

/** Links of a page to files of the project that aren't there. */
function deadLinks(page: string, text: string): readonly string[] {
  const prose = text.replaceAll(/^```.*?^```/gms, '')
  const targets = [...prose.matchAll(/\]\(([^)\s#]+)[^)\s]*\)/g)].map(([, target = '']) => target)
  return targets.filter((target) => !target.includes('://') && !existsSync(join(ROOT, dirname(page), target)))
}

describe('the pages', () => {
  it('number each decision once, in its name and its title', () => {
    expect(reused(['0001-a.md', '0002-b.md', '0001-c.md'])).to.deep.equal(['0001-c.md'])
    expect(DECISIONS).to.have.length.greaterThan(30)
    expect(reused(DECISIONS)).to.deep.equal([])
    for (const name of DECISIONS) {
      expect(readFileSync(join(ROOT, 'docs/decisions', name), 'utf8'), name).to.match(
        new RegExp(`^# ${name.slice(0, 4)} `),
      )
    }
  })

  it('link to files that are there', () => {
    expect(deadLinks('docs/a.md', '[a](http.md#pages) [b](no-such.md)')).to.deep.equal(['no-such.md'])
    for (const page of PAGES) expect(deadLinks(page, readFileSync(join(ROOT, page), 'utf8')), page).to.deep.equal([])
  })
})
