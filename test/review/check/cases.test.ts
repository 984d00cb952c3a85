/**
 * What `policy check` finds. Each folder of cases/ holds the files that differ from base/ (`schemas/`, and `users.txt` for
 * --directory, among them; `<file>.absent` for one that is missing) and expected.txt: the findings as
 * `file:line:column code: message`, in the order of the report, and at the end how many were suppressed.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { loadResources } from '../../../src/resources/load/load-resources.ts'
import { codesExplained } from '../../../src/tools/check/catalogue.ts'
import { checkPolicy } from '../../../src/tools/check/check-policy.ts'
import { readDirectory } from '../../../src/tools/check/read-directory.ts'
import { removeFolder } from '../../ends-with-tests.ts'

const BASE = fileURLToPath(new URL('base', import.meta.url))
const CASES = fileURLToPath(new URL('cases', import.meta.url))
const NOW = new Date('2026-06-01T00:00:00Z')

describe('the findings in a policy directory', () => {
  const names = readdirSync(CASES).sort()

  for (const name of names) {
    it(name, async () => {
      expect(await findingsIn(join(CASES, name))).to.equal(await readFile(join(CASES, name, 'expected.txt'), 'utf8'))
    })
  }

  it('are of every warning that there is, and of no other', () => {
    const texts = names.map((name) => readFileSync(join(CASES, name, 'expected.txt'), 'utf8')).join('\n')
    const found = [...texts.matchAll(/^\S+:\d+:\d+ ([a-z0-9-]+):/gm)].map(([, code]) => code)
    const codes = codesExplained()
    expect(found.filter((code) => !codes.some((one) => one.code === code))).to.deep.equal([])
    const warnings = codes.filter(({ severity }) => severity === 'warning').map(({ code }) => code)
    expect(warnings.filter((code) => !found.includes(code))).to.deep.equal([])
  })
})

async function findingsIn(folder: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'sallyport-check-'))
  try {
    await lay(folder, directory)
    const resources = await loadResources(join(directory, 'schemas'))
    const hasUsers = (await readdir(folder)).includes('users.txt')
    const users = hasUsers ? await readDirectory(join(folder, 'users.txt'), resources) : undefined
    const { findings, suppressed } = await checkPolicy({ policies: directory, resources, users, now: NOW })
    const lines = findings.map(
      ({ file, line, column, code, message }) => `${basename(file)}:${line}:${column} ${code}: ${message}`,
    )
    return `${[...lines, `${suppressed} suppressed`].join('\n').replaceAll(directory, '')}\n`
  } finally {
    await removeFolder(directory)
  }
}

async function lay(folder: string, directory: string): Promise<void> {
  await cp(BASE, directory, { recursive: true })
  await cp(folder, directory, {
    recursive: true,
    filter: (path) => !/(?:expected\.txt|users\.txt|\.absent)$/.test(path),
  })
  const absent = (await readdir(folder)).filter((file) => file.endsWith('.absent'))
  for (const file of absent) await rm(join(directory, file.replace(/\.absent$/, '')))
}
