/**
 * Faulty policy directories. Each folder of cases/ holds the files that differ from base/ (`<file>.absent` for one that
 * is missing) and expected.txt: all that is wrong, as `file:line:column code`, in the order of the report.
 */
import { readdirSync } from 'node:fs'
import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { parseBlocked } from '../../src/policy/parse/parse-blocked.ts'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import { readBlockedFile, readPolicyFiles } from '../../src/policy/policy-files.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { placesIn } from './diagnostics.ts'
import { RESOURCES } from './fixture.ts'
import { filesOf } from './render.ts'

const BASE = fileURLToPath(new URL('base', import.meta.url))
const CASES = fileURLToPath(new URL('cases', import.meta.url))

describe('a policy directory', () => {
  for (const name of readdirSync(CASES).sort()) {
    it(name, async () => {
      const expected = await readFile(join(CASES, name, 'expected.txt'), 'utf8')
      expect(await faultsIn(join(CASES, name))).to.deep.equal(expected.split('\n').filter((line) => line !== ''))
    })
  }
})

describe('a relation that no resource of a line declares', () => {
  for (const [resource, covered] of [
    ['docs', '`docs`'],
    ['*', 'any of `docs`, `jobs`'],
  ]) {
    it(`is reported with the resources of the line: ${resource}`, () => {
      const files = filesOf({ 'policy.csv': `p, everyone, ${resource}, read, home, *, allow\n` })
      expect(() => parsePolicy(files, RESOURCES)).to.throw(`the relation \`home\` is not declared for ${covered}`)
    })
  }
})

/** What is wrong with the rules and their names; and, on its own, with blocked.txt. */
async function faultsIn(folder: string): Promise<readonly string[]> {
  const directory = await mkdtemp(join(tmpdir(), 'sallyport-case-'))
  try {
    await lay(folder, directory)
    const policy = await faultsOf(async () => parsePolicy(await readPolicyFiles(directory), RESOURCES))
    const blocked = await faultsOf(async () => parseBlocked(await readBlockedFile(directory)))
    return [...policy, ...blocked]
  } finally {
    await removeFolder(directory)
  }
}

async function lay(folder: string, directory: string): Promise<void> {
  await cp(BASE, directory, { recursive: true })
  await cp(folder, directory, { recursive: true, filter: (path) => !/(?:expected\.txt|\.absent)$/.test(path) })
  const absent = (await readdir(folder)).filter((file) => file.endsWith('.absent'))
  for (const file of absent) await rm(join(directory, file.replace(/\.absent$/, '')))
}

async function faultsOf(parse: () => Promise<unknown>): Promise<readonly string[]> {
  try {
    await parse()
    return []
  } catch (error) {
    return placesIn(error)
  }
}
