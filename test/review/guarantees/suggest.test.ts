/** `policy suggest-guarantees` proposes sentences that hold, that a file can have, and that refuse what it says. */
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { stringify } from 'yaml'
import { Prover } from '../../../src/analysis/guarantees/prove.ts'
import type { Policy } from '../../../src/decide/policy.ts'
import { parsePolicy } from '../../../src/policy/parse/parse-policy.ts'
import { loadResources } from '../../../src/resources/load/load-resources.ts'
import type { Resources } from '../../../src/resources/resource.ts'
import { loadPolicy } from '../../../src/tools/load-policy.ts'
import { makeMutants } from '../../../src/tools/matrix/mutate/judge-mutant.ts'
import type { Source } from '../../../src/tools/matrix/mutate/mutants.ts'
import { ROOT, sallyport } from '../../command.ts'
import { removeFolder } from '../../ends-with-tests.ts'
import { addRules } from '../../policy-text.ts'

interface Suggested {
  readonly mutants: number
  readonly tried: number
  readonly refused: number
  readonly suggestions: readonly {
    readonly guarantee: { readonly name: string; readonly never?: object; readonly always?: object }
    readonly notices: number
    readonly more: number
  }[]
}

const SCHEMA = JSON.parse(await readFile(join(ROOT, 'docs/schemas/policy-suggest-guarantees.schema.json'), 'utf8'))

describe('sallyport policy suggest-guarantees', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
    await cp(join(ROOT, 'policies'), folder, { recursive: true })
    await rm(join(folder, 'guarantees.yaml'), { force: true })
  })
  afterEach(() => removeFolder(folder))

  const suggest = (...more: readonly string[]) =>
    sallyport(['policy', 'suggest-guarantees', '--policies', folder, '--resource', 'notes', ...more], { cwd: ROOT })
  const suggested = async () => JSON.parse((await suggest('--format', 'json')).stdout) as Suggested
  const check = async () => (await sallyport(['policy', 'check', folder], { cwd: ROOT })).stdout

  it('proposes sentences that are proven as they are printed, the strongest first', async () => {
    const { code, stdout } = await suggest()
    expect(code).to.equal(0)
    const count = stdout.match(/^- name: /gm)?.length ?? 0
    expect(count).to.be.greaterThan(4)
    await writeFile(join(folder, 'guarantees.yaml'), stdout)
    expect(await check()).to.match(new RegExp(`^${count} guarantees proven, in \\d+ cells\n`))
    const more = readSuggestions(stdout).map(({ fresh }) => fresh)
    expect(more).to.deep.equal(more.toSorted((a, b) => b - a))
    // Together they refuse all that any of them refuses: nothing more is proposed.
    const again = await suggested()
    expect(again.refused).to.equal(more.reduce((sum, one) => sum + one, 0))
    expect(again.suggestions).to.deep.equal([])
    expect((await suggest()).stdout).to.include('# No sentence was found that refuses more mistakes than the present')
  })

  it('says of each how many mistakes it refuses: so many changed policies break it', async () => {
    const found = await suggested()
    const validate = new Ajv2020({ strict: true, allErrors: true }).compile(SCHEMA)
    expect(validate(found), JSON.stringify(validate.errors)).to.equal(true)
    const resources = await loadResources(join(ROOT, 'schemas'))
    const texts = found.suggestions.map(({ guarantee }) => guarantee)
    await writeFile(join(folder, 'guarantees.yaml'), stringify(texts))
    const { files, policy } = await loadPolicy(folder, resources)
    const changed = changedPolicies({ files, resources }, policy)
    const refusing = texts.map(({ name }, i) => [name, changed.filter((one) => !keeps(one, i, resources)).length])
    expect(found).to.include({ tried: changed.length, mutants: changed.length, refused: 0 })
    const told = found.suggestions.map(({ guarantee, notices }) => [guarantee.name, notices])
    expect(refusing).to.deep.equal(told)
  })

  it('proposes nothing that a hole in the policy breaks', async () => {
    const names = async () => (await suggested()).suggestions.map(({ guarantee }) => guarantee.name)
    const isAboutReaders = (name: string) =>
      /^notes: .*\bread\b.* only by admin, auditor, or where owner holds$/.test(name)
    expect((await names()).filter(isAboutReaders)).to.have.length(1)
    await addRules(join(folder, 'policy.csv'), 'p, everyone, notes, read, any, *, allow')
    expect((await names()).filter(isAboutReaders)).to.deep.equal([])
  })

  it('knows no resource that there is not', async () => {
    const { code, stderr } = await suggest('--resource', 'nots')
    expect(code).to.equal(2)
    expect(stderr).to.include('there is no resource `nots`')
  })
})

/** The policies with one mistake that can matter to notes, as far as a parser accepts them. */
function changedPolicies(source: Source, policy: Policy): readonly Policy[] {
  const mutants = makeMutants(source, policy, { only: undefined, valuesOf: () => [] })
  return mutants
    .filter(({ resource = '*' }) => resource === '*' || resource === 'notes')
    .flatMap(({ files }) => accepted(() => parsePolicy(files, source.resources)) ?? [])
}

function keeps(policy: Policy, i: number, resources: Resources): boolean {
  const guarantee = policy.guarantees[i]
  return guarantee !== undefined && new Prover(policy, resources, Date.now()).answer(guarantee).kind === 'proven'
}

/** How many mistakes each refuses that those before it don't. */
function readSuggestions(text: string): readonly { readonly fresh: number }[] {
  return [...text.matchAll(/^# refuses (\d+) of \d+ mistakes(?:, and (\d+) of these)?/gm)].map(([, all, more]) => ({
    fresh: Number(more ?? all),
  }))
}

function accepted<T>(parse: () => T): T | undefined {
  try {
    return parse()
  } catch {
    return undefined
  }
}
