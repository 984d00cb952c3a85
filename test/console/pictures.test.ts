/** The pictures in the pages are those that a script makes of the console, so they show no other one. */
import { readdir, readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { PAGES } from '../../packages/console/src/pages.ts'
import { PICTURES, takePictures } from '../../scripts/pictures.ts'
import { soak } from '../runs.ts'

const ROOT = new URL('../../', import.meta.url)

describe('the pictures of the console', () => {
  it('are one of each page, made by the script, and each stands in docs/console.md', async () => {
    const names = Object.keys(PICTURES)
    expect(names.toSorted()).to.deep.equal(PAGES.map(({ id }) => id).toSorted())
    const files = await readdir(new URL('docs/pictures/', ROOT))
    expect(files.toSorted()).to.deep.equal(names.map((name) => `${name}.png`).toSorted())
    const page = await readFile(new URL('docs/console.md', ROOT), 'utf8')
    const shown = [...page.matchAll(/!\[[^\]]+\]\(pictures\/(\w+)\.png\)/g)].map(([, name]) => name)
    expect(shown.toSorted()).to.deep.equal(names.toSorted())
  })

  it('can be made of the pages as they are today', async () => {
    const names = soak(Object.keys(PICTURES), ['access', 'draft'])
    const taken = await takePictures(names)
    expect([...taken.keys()]).to.deep.equal(names.map((name) => `${name}.png`))
    for (const [name, bytes] of taken) {
      expect(bytes.subarray(1, 4).toString(), name).to.equal('PNG')
      expect(bytes.length, name).to.be.greaterThan(10_000).and.lessThan(400_000)
    }
  })
})
