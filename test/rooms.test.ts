/** The order of the rooms of src/: no circle of imports, one file for each exported name and for each name of a type. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect } from 'chai'

const SOURCE = new URL('../src/', import.meta.url).pathname
const TESTS = new URL('.', import.meta.url).pathname

/** Exported names that may stand in several files: each is the one natural name of a different thing in its own room. */
const MOST_SHARED_NAMES = 10

/** What is exported: a function, a constant, or a type. */
const EXPORTED = /^export (?:async )?(?:abstract )?(?:function\*?|const|class|interface|type) (\w+)/gm

/** A type, exported or not. Within a file, a name has one meaning by itself. */
const TYPE = /^(?:export )?(?:abstract )?(?:class|interface|type) (\w+)/gm

/**
 * The engines of the store are built alike, and a server loads one of them, so a name counts once for all engines. It
 * still counts twice if one engine has it in two files, or if another room has it too.
 */
const ENGINES = ['store/sqlite/', 'store/postgres/']

/** A test's removal of a folder without the patience of `removeFolder`. */
const IMPATIENT = /\brm(?:Sync)?\([^;\n]*, \{ recursive: true/

/** The first two are about it; the last one runs in a checkout of an old version. */
const IMPATIENT_ALLOWED = ['ends-with-tests.ts', 'rooms.test.ts', 'release-0.1.0/make.ts']

/** The record that a test takes for the last one could be that of an earlier write; `lastDecision` names it. */
const UNNAMED = /\.decisions\(\)\)\s*\.(?:at|slice)\(-1\)/

/** In the first one it is the last; the second one is about it. */
const UNNAMED_ALLOWED = ['request/decision-records.test.ts', 'rooms.test.ts']

type Imports = ReadonlyMap<string, readonly string[]>

describe('the rooms of src/', () => {
  it('import one another in no circle, types included', () => {
    expect(importsOf(files()).size).to.be.greaterThan(300)
    expect(circlesOf(importsOf(files()))).to.deep.equal([])
  })

  it('a circle would be found, also over three files', () => {
    const three: Imports = new Map([
      ['a.ts', ['b.ts']],
      ['b.ts', ['c.ts']],
      ['c.ts', ['a.ts']],
      ['d.ts', ['a.ts']],
    ])
    expect(circlesOf(three)).to.deep.equal([['a.ts', 'b.ts', 'c.ts']])
  })

  it(`export at most ${MOST_SHARED_NAMES} names from more than one file`, () => {
    const shared = sharedNames(EXPORTED, textsOf(files()))
    expect(shared.length, shared.join(', ')).to.be.at.most(MOST_SHARED_NAMES)
  })

  it('names that files share would be found, within one engine and beside the engines too', () => {
    const one = 'export function one() {}'
    const two = 'export interface one {}\nexport const two = 2'
    const found = (...places: readonly string[]) =>
      sharedNames(EXPORTED, new Map(places.map((at, i) => [at, i ? two : one])))
    expect(found('a.ts', 'b.ts')).to.deep.equal(['one'])
    expect(found('store/sqlite/a.ts', 'store/sqlite/b.ts')).to.deep.equal(['one'])
    expect(found('store/sqlite/a.ts', 'store/open.ts')).to.deep.equal(['one'])
    expect(found('store/sqlite/a.ts', 'store/postgres/a.ts')).to.deep.equal([])
  })

  it('declare each name of a type in one file, so that it has one meaning', () => {
    expect(sharedNames(TYPE, textsOf(files()))).to.deep.equal([])
  })

  it('a name of two types would be found, exported or not', () => {
    const texts = new Map([
      ['a.ts', 'interface Form {}\nexport type Own = string\n  type Inner = number'],
      ['b.ts', 'export type Form = string\nclass Other {}\n  type Inner = string'],
      ['c.ts', "import type { Own } from './a.ts'\nabstract class Other {}"],
    ])
    expect(sharedNames(TYPE, texts)).to.deep.equal(['Form', 'Other'])
  })
})

describe('the folders of tests', () => {
  it('are removed by `removeFolder` or `removeNow`: a program that ends late may still write there', () => {
    const all = readdirSync(TESTS, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
    expect(all.length).to.be.greaterThan(300)
    const impatient = all.filter((file) => IMPATIENT.test(readFileSync(join(TESTS, file), 'utf8')))
    expect(impatient.filter((file) => !IMPATIENT_ALLOWED.includes(file))).to.deep.equal([])
    expect(impatient).to.include('rooms.test.ts')
  })

  it('has tests that name the decision record that they take', () => {
    const all = readdirSync(TESTS, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
    const unnamed = all.filter((file) => UNNAMED.test(readFileSync(join(TESTS, file), 'utf8')))
    expect(unnamed.filter((file) => !UNNAMED_ALLOWED.includes(file))).to.deep.equal([])
    expect(unnamed).to.include('request/decision-records.test.ts')
  })

  it('a removal without patience would be found', () => {
    expect(IMPATIENT.test('after(() => rm(folder, { recursive: true }))')).to.equal(true)
  })
})

function files(): readonly string[] {
  return readdirSync(SOURCE, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
}

function importsOf(names: readonly string[]): Imports {
  return new Map(
    names.map((file) => {
      const found = readFileSync(join(SOURCE, file), 'utf8').matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)
      return [file, [...found].map(([, to = '']) => normalize(join(dirname(file), to)))]
    }),
  )
}

/** Groups of files that reach one another, each sorted. */
function circlesOf(imports: Imports): readonly (readonly string[])[] {
  const reached = new Map([...imports.keys()].map((file) => [file, reachableFrom(file, imports)]))
  const circles = [...imports.keys()]
    .filter((file) => reached.get(file)?.has(file))
    .map((file) => [...imports.keys()].filter((to) => reached.get(file)?.has(to) && reached.get(to)?.has(file)).sort())
  return [...new Map(circles.map((circle) => [circle.join(), circle])).values()]
}

function reachableFrom(file: string, imports: Imports): ReadonlySet<string> {
  const reached = new Set<string>()
  const next = [...(imports.get(file) ?? [])]
  for (let to = next.pop(); to !== undefined; to = next.pop()) {
    if (reached.has(to)) continue
    reached.add(to)
    next.push(...(imports.get(to) ?? []))
  }
  return reached
}

function textsOf(names: readonly string[]): ReadonlyMap<string, string> {
  return new Map(names.map((file) => [file, readFileSync(join(SOURCE, file), 'utf8')]))
}

/** Names that `declaration` finds in more than one file. */
function sharedNames(declaration: RegExp, texts: ReadonlyMap<string, string>): readonly string[] {
  const namesOf = (text: string) => new Set([...text.matchAll(declaration)].map(([, name = '']) => name))
  const engineOf = (file: string) => ENGINES.find((folder) => file.startsWith(folder))
  const elsewhere = [...texts].filter(([file]) => !engineOf(file)).flatMap(([, text]) => [...namesOf(text)])
  const ofEngines = ENGINES.map((engine) =>
    [...texts].filter(([file]) => engineOf(file) === engine).flatMap(([, text]) => [...namesOf(text)]),
  )
  const repeated = (names: readonly string[]) => names.filter((name, i) => names.indexOf(name) !== i)
  const beside = elsewhere.filter((name) => ofEngines.some((names) => names.includes(name)))
  return [...new Set([...repeated(elsewhere), ...ofEngines.flatMap(repeated), ...beside])].sort()
}
