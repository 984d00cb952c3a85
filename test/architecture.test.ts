/** The shape of the program: imports point down the list of rooms (ARCHITECTURE.md), and what may exist once exists once. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect } from 'chai'

/** The rooms of src/, from top to bottom; a file may import from its own room and from the rooms below. */
const LAYERS = [
  'main.ts',
  'cli',
  'lsp',
  'tools',
  'server',
  'analysis',
  'config',
  'identity',
  'migrations',
  'decision-log',
  'limits',
  'store',
  'policy',
  'decide',
  'resources',
  'present',
  'base',
]

/** The rooms of src/tools/matrix/, in the same way. */
const MATRIX_ROOMS = [
  'report',
  'attack',
  'coverage',
  'mutate',
  'init',
  'run',
  'target',
  'cells',
  'predict',
  'fixture',
  'read',
]

/** Code lines of each room: what was reached, rounded up to the next fifty. Lower one whenever its room gets smaller. */
const BUDGETS: Readonly<Record<string, number>> = {
  'main.ts': 50,
  cli: 5230,
  tools: 31700,
  server: 15300,
  analysis: 5050,
  config: 920,
  identity: 2800,
  migrations: 850,
  'decision-log': 3640,
  limits: 1100,
  store: 9850,
  policy: 3440,
  decide: 5460,
  resources: 5270,
  present: 650,
  base: 1270,
  lsp: 1700,
}

/** Files that do one job each and don't know one another; only the file that composes them does. */
const APART: readonly RegExp[] = [
  /^cli\/(?:(?:policy\/policy|matrix\/matrix|serve\/serve|openapi\/openapi)|decisions|identity\/(?:user|key|signing-keys|token)|completion)\.ts$/,
  /^limits\/(memory|redis|failover)\.ts$/,
]

/** Outside of decide/: files that show or compare the text of rules, and decide no request. */
const SHOW_RULES: readonly string[] = [
  // Findings about the lines of policy.csv, one by one.
  'tools/check/reach/without-effect.ts',
  'tools/check/rules/privileges.ts',
  'tools/check/rules/never-matches.ts',
  'tools/check/rules/unused.ts',
  // Rules in words and tables.
  'tools/explain/request.ts',
  'tools/explain/text/quote-rules.ts',
  'tools/matrix/run/why-wrong.ts',
  'tools/permissions/page.ts',
  // Edits of a line, and callers who show that a deny matters.
  'tools/matrix/cells/columns.ts',
  'tools/matrix/mutate/mutants.ts',
  // Which parts of lines requests needed.
  'tools/usage/needed-parts.ts',
]

function readsRules(text: string): boolean {
  const reads = [
    /\brule\.(effect|relations)\b/,
    /\beffect\b[^'\n]*[!=]== '(allow|deny)'/,
    /\beffect\b[^}\n]*\}(: Rule\b| = rules\[)/,
    /\brules\b[^\n]*\(\{ (effect|relations) \}\)/,
  ]
  return reads.some((read) => read.test(text))
}

interface Import {
  readonly from: string
  readonly to: string
}

const ROOT = new URL('..', import.meta.url).pathname
const SOURCE = join(ROOT, 'src')

function sources(): readonly string[] {
  return readdirSync(SOURCE, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
}

function importsOf(file: string, text: string): readonly Import[] {
  const found = text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)
  return [...found].map(([, to = '']) => ({ from: file, to: normalize(join(dirname(file), to)) }))
}

function allImports(): readonly Import[] {
  return sources().flatMap((file) => importsOf(file, readFileSync(join(SOURCE, file), 'utf8')))
}

function layerOf(file: string): number {
  return LAYERS.indexOf(file.split('/')[0] ?? '')
}

function upward(imports: readonly Import[]): readonly Import[] {
  return imports.filter(({ from, to }) => layerOf(to) < layerOf(from))
}

const MATRIX = 'tools/matrix/'

function withinMatrix(from: string, to: string): Import | undefined {
  if (!from.startsWith(MATRIX) || !to.startsWith(MATRIX)) return undefined
  return { from: from.slice(MATRIX.length), to: to.slice(MATRIX.length) }
}

function matrixRoomOf(file: string): number {
  return MATRIX_ROOMS.indexOf(file.split('/')[0] ?? '')
}

function upwardInMatrix(imports: readonly Import[]): readonly Import[] {
  return imports.filter(({ from, to }) => matrixRoomOf(to) < matrixRoomOf(from))
}

/** Every folder of the store but two, which belong to all engines. */
const ENGINE = /^store\/(?!(?:lists|sql)\/)\w+\//

/** A line of code is neither blank nor a comment of its own. */
function codeLines(text: string): number {
  return text.split('\n').filter((line) => !/^\s*(\/\/|\/\*|\*|$)/.test(line)).length
}

function sizesOfRooms(): ReadonlyMap<string, number> {
  const rooms = Map.groupBy(sources(), (file) => file.split('/')[0] ?? '')
  const sizeOf = (file: string) => codeLines(readFileSync(join(SOURCE, file), 'utf8'))
  return new Map([...rooms].map(([room, files]) => [room, files.reduce((sum, file) => sum + sizeOf(file), 0)]))
}

function overBudget(sizes: ReadonlyMap<string, number>, budgets: Readonly<Record<string, number>>): readonly string[] {
  return [...sizes].flatMap(([room, lines]) => {
    const most = budgets[room] ?? 0
    return lines > most
      ? [`${room} has ${lines} lines of code, and its budget is ${most}: make it smaller, or raise it by a decision`]
      : []
  })
}

describe('architecture', () => {
  it('sees the whole program', () => {
    expect(sources().length).to.be.greaterThan(60)
    expect(allImports().length).to.be.greaterThan(150)
  })

  it('has no file outside the rooms', () => {
    expect(sources().filter((file) => layerOf(file) < 0)).to.deep.equal([])
  })

  it('imports point down the list of rooms', () => {
    expect(upward(allImports())).to.deep.equal([])
  })

  it('an import that points up would be found', () => {
    const text = "import { authorize } from '../../server/stages/authorize.ts'"
    expect(upward(importsOf('decide/grants/grant-table.ts', text))).to.have.length(1)
    expect(
      upward(importsOf('decide/grants/grant-table.ts', "const x = await import('../../store/contract.ts')")),
    ).to.have.length(1)
  })

  it('the rooms of tools/matrix stand in one order too', () => {
    const within = allImports().flatMap(({ from, to }) => withinMatrix(from, to) ?? [])
    expect(within.length).to.be.greaterThan(100)
    expect(within.filter(({ from, to }) => matrixRoomOf(from) < 0 || matrixRoomOf(to) < 0)).to.deep.equal([])
    expect(upwardInMatrix(within)).to.deep.equal([])
    expect(upwardInMatrix([{ from: 'predict/suite.ts', to: 'run/result.ts' }])).to.have.length(1)
  })

  it('commands and backends do not know each other', () => {
    const known = allImports().filter(({ from, to }) => APART.some((apart) => apart.test(from) && apart.test(to)))
    expect(known).to.deep.equal([])
  })

  it('Casbin is known to one file', () => {
    expect(whoImports("'casbin'")).to.deep.equal(['decide/casbin/casbin.ts'])
  })

  it('store engines are known to one file of the store room', () => {
    const known = (imports: readonly Import[]) =>
      imports.filter(({ from, to }) => ENGINE.test(to) && !from.startsWith('store/')).map(({ from }) => from)
    expect(known(allImports())).to.deep.equal([])
    const roomOf = (file: string) => ENGINE.exec(file)?.[0]
    const inside = allImports().filter(({ from, to }) => roomOf(to) && roomOf(to) !== roomOf(from))
    expect(inside).to.have.deep.members([
      { from: 'store/open.ts', to: 'store/sqlite/open.ts' },
      { from: 'store/open.ts', to: 'store/postgres/open.ts' },
      { from: 'store/open.ts', to: 'store/postgres/connections/url.ts' },
    ])
    expect(known([{ from: 'cli/x.ts', to: 'store/sqlite/open.ts' }])).to.deep.equal(['cli/x.ts'])
    for (const text of ["'node:sqlite'", 'sqlite:<file>', 'SQLite format', "'pg'", 'postgres://']) {
      expect(whoImports(text).filter((file) => !file.startsWith('store/'))).to.deep.equal([])
    }
  })

  it('commands print by one file, which escapes what a terminal would obey', () => {
    const writes = /\.std(?:out|err)\.write/
    const prints = (file: string) => writes.test(readFileSync(join(SOURCE, file), 'utf8'))
    // One asks a question, and one prints help in bold: neither has foreign text.
    const commands = sources().filter((file) => /^(cli|tools\/release)\/(?!serve\/run-server)/.test(file))
    expect(commands.filter(prints)).to.have.members(['cli/ask.ts', 'cli/program.ts'])
    expect(prints('present/print.ts')).to.equal(true)
  })

  it('the process and each thread begin with what Node 24 lacks', () => {
    const isProgram = (file: string) => file === 'main.ts' || /\bparentPort\b/.test(read(file))
    const begins = (text: string) => /^import '[./]*base\/node-24\.ts'$/.test(text.match(/^import .*$/m)?.[0] ?? '')
    const programs = sources().filter(isProgram)
    expect(programs).to.include.members(['main.ts', 'store/sqlite/thread/program.ts'])
    expect(programs.filter((file) => !begins(read(file)))).to.deep.equal([])
    expect(begins("import { x } from 'y'\nimport './base/node-24.ts'\n")).to.equal(false)
  })

  it('permits are issued by one file', () => {
    expect(whoImports('issuePermit')).to.deep.equal(['decide/permits/issue-permits.ts', 'decide/permits/permit.ts'])
  })

  it('nothing outside of decide/ and analysis/ reads what a rule grants, except where files are parsed and rules are shown', () => {
    const readers = sources().filter(
      (file) => !/^(analysis|decide|policy\/parse)\//.test(file) && readsRules(read(file)),
    )
    expect(readers.filter((file) => !SHOW_RULES.includes(file))).to.deep.equal([])
    expect(SHOW_RULES.filter((file) => !readers.includes(file))).to.deep.equal([])
    for (const text of [
      "policy.rules.some(({ effect }) => effect === 'allow')",
      "if (rule.effect !== 'allow') return []",
      'rule.relations.every((name) => held.has(name))',
      'const named = rules.flatMap(({ relations }) => relations)',
    ]) {
      expect(readsRules(text)).to.equal(true)
    }
  })

  it('nothing outside of decide/ asks for a grant, but tools that show which rules grant it', () => {
    expect(whoImports('.grant(').filter((file) => !file.startsWith('decide/'))).to.deep.equal([
      'tools/access/tokens.ts',
      'tools/explain/nearest-misses.ts',
      'tools/matrix/cells/columns.ts',
      'tools/matrix/run/why-wrong.ts',
      'tools/permissions/cell.ts',
    ])
    expect(whoImports('decideRole')).to.deep.equal(['decide/decide.ts'])
  })

  it('kinds of relations are told apart by decide/relations/ alone', () => {
    const folder = sources().filter((file) => file.startsWith('decide/relations/'))
    const kinds = folder.flatMap((file) =>
      [...read(file).matchAll(/^ {2}readonly kind: '(\w+)'$/gm)].map(([, kind]) => kind),
    )
    expect(kinds).to.include.members(['attribute', 'state'])
    const tellsApart = (text: string) => new RegExp(`\\bkind\\b[^\\n]*'(${kinds.join('|')})'`).test(text)
    const others = sources().filter((file) => !folder.includes(file))
    expect(others.filter((file) => tellsApart(read(file)))).to.deep.equal([])
    expect(tellsApart("if (relation.kind === 'state') return relation.values")).to.equal(true)
    expect(tellsApart("relations.filter(({ kind }) => kind !== 'attribute')")).to.equal(true)
    const files = kinds.map((kind) => `decide/relations/${kind}.ts`)
    const importers = allImports().flatMap(({ from, to }) => (files.includes(to) ? [from] : []))
    expect(new Set(importers)).to.deep.equal(new Set(['decide/relations/all-kinds.ts']))
  })

  it('the environment and the clock stay outside of policy and resources', () => {
    const impure = sources()
      .filter((file) => /^(decide|policy|resources)\//.test(file) && file !== 'policy/live/watch-policy.ts')
      .filter((file) => /process\.env|Date\.now|new Date\(\)|performance\.now|fetch\(/.test(read(file)))
    expect(impure).to.deep.equal([])
  })

  it('each room stays within its budget of code lines', () => {
    expect(overBudget(sizesOfRooms(), BUDGETS)).to.deep.equal([])
  })

  it('the console in packages/ stays within its budget of code lines', () => {
    const folder = join(ROOT, 'packages/console/src')
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
      /\.(tsx?|css)$/.test(name),
    )
    const lines = files.reduce((sum, name) => sum + codeLines(readFileSync(join(folder, name), 'utf8')), 0)
    expect(files.length).to.be.greaterThan(30)
    expect(overBudget(new Map([['console', lines]]), { console: 6050 })).to.deep.equal([])
  })

  it('a room that grows, or a new room, would be found', () => {
    const sizes = new Map([
      ['decide', 11],
      ['store', 10],
      ['new', 1],
    ])
    const found = overBudget(sizes, { decide: 10, store: 10 })
    expect(found.map((text) => text.split(' ')[0])).to.deep.equal(['decide', 'new'])
  })

  it('a budget is no reserve: it is at most a hundred lines above its room', () => {
    const sizes = sizesOfRooms()
    const loose = Object.entries(BUDGETS).filter(([room, most]) => most - (sizes.get(room) ?? 0) > 100)
    expect(loose).to.deep.equal([])
  })

  it('a budget counts code, not comments and not blank lines', () => {
    expect(
      codeLines('/** Why. */\n\nconst one = 1 // with a comment\n// Why.\n/*\n * Why.\n */\n  return one\n'),
    ).to.equal(2)
  })

  it('comments name tests that there are', () => {
    const missing = (text: string) =>
      [...text.matchAll(/\btest\/[\w./-]+\.ts\b/g)]
        .map(([path]) => path)
        .filter((path) => !existsSync(join(ROOT, path)))
    expect(sources().flatMap((file) => missing(read(file)))).to.deep.equal([])
    expect(missing('// test/policy/permits.test.ts holds this, and test/nothing.test.ts that')).to.have.length(1)
  })

  function whoImports(text: string): readonly string[] {
    return sources()
      .filter((file) => read(file).includes(text))
      .toSorted()
  }

  function read(file: string): string {
    return readFileSync(join(SOURCE, file), 'utf8')
  }
})
