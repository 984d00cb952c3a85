/** Versions are ordered as Semantic Versioning says, and each step is named by the number that was raised. */
import { expect } from 'chai'
import { compareVersions, parseVersion, stepBetween } from '../../src/tools/project/upgrade/versions.ts'

/** Of section 11 of the specification, and around it. */
const ORDERED = [
  '0.0.9',
  '0.1.0',
  '0.1.10',
  '1.0.0-alpha',
  '1.0.0-alpha.1',
  '1.0.0-alpha.beta',
  '1.0.0-beta',
  '1.0.0-beta.2',
  '1.0.0-beta.11',
  '1.0.0-rc.1',
  '1.0.0',
  '1.0.1',
  '1.10.0',
  '2.0.0',
]

describe('versions', () => {
  const version = (text: string) => {
    const parsed = parseVersion(text)
    if (!parsed) throw new Error(`${text} is no version`)
    return parsed
  }

  it('are ordered as in the specification', () => {
    for (const [i, a] of ORDERED.entries()) {
      for (const [j, b] of ORDERED.entries()) {
        expect(Math.sign(compareVersions(version(a), version(b))), `${a} ${b}`).to.equal(Math.sign(i - j))
      }
    }
    expect(compareVersions(version('1.0.0+one'), version('1.0.0+two')), 'builds').to.equal(0)
  })

  it('are not every text', () => {
    for (const text of ['', '1', '1.2', 'v1.2.3', '1.2.3.4', '1.2.x', '1.2.3-']) {
      expect(parseVersion(text), text).to.equal(undefined)
    }
  })

  it('tell what a step promises; below 1.0.0 the middle number stands for the first', () => {
    const steps = [
      ['1.2.3', '2.0.0', 'major'],
      ['1.2.3', '1.3.0', 'minor'],
      ['1.2.3', '1.2.4', 'patch'],
      ['0.1.0', '0.2.0', 'major'],
      ['0.1.0', '0.1.1', 'minor'],
      ['0.9.0', '1.0.0', 'major'],
      ['1.0.0-rc.1', '1.0.0', 'major'],
      ['1.0.0', '1.0.0', 'same'],
      ['1.0.0', '1.0.0-rc.1', 'earlier'],
    ] as const
    for (const [old, young, step] of steps) {
      expect(stepBetween(version(old), version(young)), `${old} -> ${young}`).to.equal(step)
    }
  })
})
