/** Findings about callers with several subjects know the roles that a guarantee keeps apart. */
import { cp, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { loadResources } from '../../../src/resources/load/load-resources.ts'
import { checkPolicy } from '../../../src/tools/check/check-policy.ts'
import { ROOT } from '../../command.ts'
import { removeFolder } from '../../ends-with-tests.ts'
import { addRules } from '../../policy-text.ts'

const APART = '- name: writers never judge\n  roles-apart: [writer, judge]\n'
const ROLES = 'writer: { description: Writes. }\njudge: { description: Judges. }\n'

const OWNERSHIP = `accounts:
  relations: { owner: userId, colleague: { field: currency, equals: subject.bio } }
users:
  relations: { owner: id }
`

interface Expected {
  readonly lines: string
  readonly code: string
  /** How many findings have the code if one caller may have both roles, and if nobody may. */
  readonly together: number
  readonly apart: number
}

const CASES: Readonly<Record<string, Expected>> = {
  'who may write is another than who is kept from reading': {
    lines: 'p, writer, accounts, list|read|update, owner, *, allow\np, judge, accounts, list|read, any, *, deny',
    code: 'write-beyond-read',
    together: 1,
    apart: 0,
  },
  'who may give the relation is another than who gains by it': {
    lines:
      'p, writer, users, update, owner, personal, allow\np, judge, accounts, list|read, colleague, *, allow\np, writer, users, read, owner, *, allow',
    code: 'self-grant',
    together: 1,
    apart: 0,
  },
  'who is denied is another than who is allowed': {
    lines: 'p, writer, accounts, create, owner, *, allow\np, judge, accounts, create, owner, *, deny',
    code: 'deny-without-allow',
    together: 0,
    apart: 1,
  },
}

async function countOf(code: string, lines: string, guarantees: string): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
  try {
    await cp(join(ROOT, 'policies'), folder, { recursive: true })
    await writeFile(join(folder, 'guarantees.yaml'), guarantees)
    await writeFile(join(folder, 'roles.yaml'), ROLES)
    await writeFile(join(folder, 'ownership.yaml'), OWNERSHIP)
    await writeFile(join(folder, 'limits.yaml'), 'body: 100kb\npage: { default: 50, max: 200 }\nlimits: {}\n')
    await writeFile(join(folder, 'policy.csv'), '# end of policy\n')
    await addRules(join(folder, 'policy.csv'), lines)
    const resources = await loadResources(join(ROOT, 'schemas'))
    const { findings } = await checkPolicy({ policies: folder, resources, users: undefined, now: new Date(0) })
    const errors = findings.filter(({ severity }) => severity === 'error')
    expect(errors, JSON.stringify(errors)).to.deep.equal([])
    return findings.filter((one) => one.code === code).length
  } finally {
    await removeFolder(folder)
  }
}

describe('roles that a guarantee keeps apart', () => {
  for (const [which, { lines, code, together, apart }] of Object.entries(CASES)) {
    it(`count as no one caller's where ${which}`, async () => {
      expect(await countOf(code, lines, '[]\n'), 'without the guarantee').to.equal(together)
      expect(await countOf(code, lines, APART)).to.equal(apart)
    })
  }
})
