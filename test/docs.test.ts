/** The pages refer to files that are there, the indexes list every page, and a decision's number means one decision. */
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const DECISIONS = readdirSync(join(ROOT, 'docs/decisions')).filter((name) => name !== 'README.md')
const PAGES = globSync(['*.md', 'docs/**/*.md', 'bench/*.md', 'test/*.md', 'examples/*/README.md'], { cwd: ROOT })
const SOURCES = globSync('{src,test,bench,scripts,packages,examples}/**/*.ts', {
  cwd: ROOT,
  exclude: (name) => name.endsWith('node_modules'),
})

/** Those names that share their four digits with an earlier one. */
function reused(names: readonly string[]): readonly string[] {
  return [...Map.groupBy(names, (name) => name.slice(0, 4)).values()].flatMap(([, ...others]) => others)
}

/** What a page links to, but for code blocks and places in itself. */
function linksOf(text: string): readonly string[] {
  const prose = text.replaceAll(/^```.*?^```/gms, '')
  return [...prose.matchAll(/\]\(([^)\s#]+)[^)\s]*\)/g)].map(([, target = '']) => target)
}

/** Links of a page to files of the project that aren't there. */
function deadLinks(page: string, text: string): readonly string[] {
  return linksOf(text).filter((target) => !target.includes('://') && !existsSync(join(ROOT, dirname(page), target)))
}

/** Links of a page to headings that aren't there. `pageAt` gives the text of a page by its path. */
function deadAnchors(page: string, pageAt: (path: string) => string): readonly string[] {
  const links = [...pageAt(page).matchAll(/\]\(([\w./-]*\.md)?#([\w-]+)\)/g)]
  const isDead = ([, file, anchor = '']: readonly (string | undefined)[]) =>
    !anchorsOf(pageAt(file === undefined ? page : join(dirname(page), file))).has(anchor)
  return links.filter(isDead).map(([link]) => link.slice(2, -1))
}

/** As code hosts make them from headings. */
function anchorsOf(text: string): ReadonlySet<string> {
  const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading)
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    ),
  )
}

/** Paths of files and folders that a text names and that aren't there. */
function deadPaths(text: string): readonly string[] {
  const paths =
    text.match(/(?<![\w./-])(?:src|test|bench|scripts)\/[\w/-]*(?:\w\/|\.(?:test\.)?(?:ts|md|yaml|csv)\b)/g) ?? []
  return paths.filter((path) => !existsSync(join(ROOT, path)))
}

/** Names of pages and of TypeScript files that stand in comments of a source, and that no file of the project has. */
function unknownFiles(source: string, known: ReadonlySet<string>): readonly string[] {
  const comments = source.match(/^ *(?:\/?\*|\/\/).*$/gm) ?? []
  const named = comments.flatMap((line) => line.match(/(?<![\w*<.-])[\w-][\w./-]*\.(?:ts|md)\b/g) ?? [])
  return named.filter((name) => !known.has(basename(name)))
}

/** Those names that an index has no link to. */
function unlisted(names: readonly string[], index: string): readonly string[] {
  const links = new Set(linksOf(index))
  return names.filter((name) => !links.has(name))
}

/** What an index of decisions says: for each note, the numbers of the former records that it took in. */
function takenIn(index: string): readonly (readonly [note: string, former: readonly string[]])[] {
  return [...index.matchAll(/^\| \[\d+\]\((\S+)\) \| .* \| (.*) \|$/gm)].map(([, note = '', former = '']) => [
    note,
    former.match(/\d{4}/g) ?? [],
  ])
}

/** The numbers of decisions that a text refers to and that no note has. */
function unknownDecisions(text: string, known: ReadonlySet<string>): readonly string[] {
  const named = text.matchAll(
    /\bdecisions?[\s/*[]+((?:docs\/decisions\/)?\d{4}\b(?:,? (?:and )?\d{4}\b)*)|[[(](0[01]\d\d)[\])]/gi,
  )
  const numbers = [...named].flatMap(([, listed = '', linked = '']) => `${listed} ${linked}`.match(/\d{4}/g) ?? [])
  return numbers.filter((number) => !known.has(number))
}

/** Phrases that make a reader read a sentence twice (CONTRIBUTING.md). */
const HARD = /\b(of what|that which|is none|by which|whom|what is (?:told|left|taken|said)|foretold|shall)\b/gi

/** The hard phrases of a page, but for those in code, in quotation marks and in the titles of tests. */
function hardPhrases(text: string): readonly string[] {
  const prose = text
    .replaceAll(/^```.*?^```|<!-- bench.*?<!-- end -->|^ {4}[^\n]*/gms, '')
    .replaceAll(/`[^`\n]*`|"[^"]*"|\.test\.ts \| .* \|$/gm, '')
  return prose.replaceAll(/\s+/g, ' ').match(HARD) ?? []
}

const COLUMNS = 120

/** Of a page of docs/: longer ones are split by reader. */
const MOST_WORDS = 4000

/** The lines of a page that are too long, but for those in code, in tables and in headings. */
function longLines(text: string): readonly string[] {
  const prose = text.replaceAll(/^ *```.*?^ *```|<!-- bench.*?<!-- end -->|^(?: {4}| *[|#])[^\n]*/gms, '')
  return prose.split('\n').filter((line) => [...line].length > COLUMNS)
}

function read(page: string): string {
  return readFileSync(join(ROOT, page), 'utf8')
}

describe('the pages', () => {
  it('number each decision once, in its name and its title', () => {
    expect(reused(['0001-a.md', '0002-b.md', '0001-c.md'])).to.deep.equal(['0001-c.md'])
    expect(DECISIONS).to.have.length.greaterThan(25)
    expect(reused(DECISIONS)).to.deep.equal([])
    for (const name of DECISIONS) {
      expect(read(`docs/decisions/${name}`), name).to.match(new RegExp(`^# ${name.slice(0, 4)} `))
    }
  })

  it('link to files that are there', () => {
    expect(deadLinks('docs/a.md', '[a](http.md#pages) [b](no-such.md)')).to.deep.equal(['no-such.md'])
    for (const page of PAGES) expect(deadLinks(page, read(page)), page).to.deep.equal([])
  })

  it('link to headings that are there', () => {
    const pages: Readonly<Record<string, string>> = {
      'd/a.md': '[1](b.md#one-way) [2](b.md#two)',
      'd/b.md': '# One `way`',
    }
    expect(deadAnchors('d/a.md', (path) => pages[path] ?? '')).to.deep.equal(['b.md#two'])
    for (const page of PAGES) expect(deadAnchors(page, read), page).to.deep.equal([])
  })

  it('have no phrase that needs a second reading', () => {
    expect(hardPhrases('nothing\nof what a user `whom` sees')).to.deep.equal(['of what'])
    for (const page of PAGES) expect(hardPhrases(read(page)), page).to.deep.equal([])
  })

  it('have lines of prose that fit an editor', () => {
    const long = 'a b '.repeat(31)
    expect(longLines(`${long}\n\n    ${long}\n\`\`\`\n${long}\n\`\`\`\n| ${long} |`)).to.deep.equal([long])
    for (const page of PAGES) if (page !== 'CHANGELOG.md') expect(longLines(read(page)), page).to.deep.equal([])
  })

  it('are short enough to be read in one go', () => {
    const wordsOf = (text: string) => text.match(/[^\s|]*\w[^\s|]*/g)?.length ?? 0
    expect(wordsOf('| one | two, |\nthree - ')).to.equal(3)
    const pages = PAGES.filter((page) => page.startsWith('docs/') || page.startsWith('examples/'))
    expect(pages.filter((page) => wordsOf(read(page)) > MOST_WORDS)).to.deep.equal([])
    expect(wordsOf(read('docs/performance.md'))).to.be.at.most(3000)
  })

  it('are in the index of all pages, to which README.md leads', () => {
    expect(unlisted(['a.md', 'b.md'], 'a.md [b](b.md#pages)')).to.deep.equal(['a.md'])
    const pages = globSync('*.md', { cwd: join(ROOT, 'docs') }).filter((name) => name !== 'README.md')
    expect(pages).to.have.length.greaterThan(15)
    expect(unlisted([...pages, '../SECURITY.md', 'decisions/README.md'], read('docs/README.md'))).to.deep.equal([])
    expect(unlisted(['docs/README.md', 'SECURITY.md', 'CONTRIBUTING.md'], read('README.md'))).to.deep.equal([])
  })

  it('are two clicks or fewer away from README.md', () => {
    const targetsOf = (page: string) => linksOf(read(page)).map((target) => join(dirname(page), target))
    const isPage = (target: string) => target.endsWith('.md') && existsSync(join(ROOT, target))
    const first = targetsOf('README.md').map((target) => (target.endsWith('/') ? `${target}README.md` : target))
    const near = new Set([...first, ...first.filter(isPage).flatMap(targetsOf)])
    expect(PAGES.filter((page) => page !== 'README.md' && !near.has(page))).to.deep.equal([])
    expect(near.has('no-such.md')).to.equal(false)
  })

  it('are in the index of decisions, to which README.md leads', () => {
    expect(unlisted(['0001-a.md', '0002-b.md'], '[0001](0001-a.md) 0002-b.md')).to.deep.equal(['0002-b.md'])
    expect(unlisted(DECISIONS, read('docs/decisions/README.md'))).to.deep.equal([])
    expect(unlisted(['docs/decisions/'], read('README.md'))).to.deep.equal([])
  })

  it('say in the index of decisions which note took in each former record', () => {
    const rows = takenIn(read('docs/decisions/README.md'))
    expect(takenIn('| [0012](0012-a.md) | A | 0003, 0004 |')).to.deep.equal([['0012-a.md', ['0003', '0004']]])
    expect(rows.map(([note]) => note).toSorted()).to.deep.equal(DECISIONS.toSorted())
    const numbers = rows.flatMap(([note, former]) => [note.slice(0, 4), ...former])
    expect(numbers).to.deep.equal([...new Set(numbers)])
    // Records that were never written have no number here.
    for (let number = 1; number <= 107; number++)
      if (![49, 51, 52, 53, 54].includes(number)) expect(numbers).to.include(String(number).padStart(4, '0'))
  })

  it('refer, as comments do, to decisions by the number of a note', () => {
    const known = new Set(DECISIONS.map((name) => name.slice(0, 4)))
    const text = '(docs/decisions/0012) decision 0001 [0002](x) decisions\n * 0003 and 0012, `0004-names.yaml`'
    expect(unknownDecisions(text, new Set(['0012']))).to.deep.equal(['0001', '0002', '0003'])
    expect(unknownDecisions('[0001](x)', new Set(['0001']))).to.deep.equal([])
    expect(SOURCES).to.have.length.greaterThan(500)
    for (const file of [
      ...SOURCES.filter((name) => name !== 'test/docs.test.ts'),
      ...PAGES.filter((page) => page !== 'CHANGELOG.md'),
    ]) {
      expect(unknownDecisions(read(file), known), file).to.deep.equal([])
    }
  })

  it('name files of the project that are there', () => {
    expect(deadPaths('`src/main.ts`, `src/no-such.ts`, test/no-such/ and src/…')).to.deep.equal([
      ...['src/no-such.ts', 'test/no-such/'],
    ])
    for (const page of PAGES) if (page !== 'CHANGELOG.md') expect(deadPaths(read(page)), page).to.deep.equal([])
  })

  it('and the comments of the code name pages and sources that are there', () => {
    const text =
      "/** a.ts and b/no-such.ts\n * b.md, no-such.md, *.test.ts */\nimport './other.ts'\n  // <name>.md, c.test.ts"
    expect(unknownFiles(text, new Set(['a.ts', 'b.md']))).to.deep.equal(['b/no-such.ts', 'no-such.md', 'c.test.ts'])
    const known = new Set([...SOURCES, ...PAGES].map((path) => basename(path)))
    for (const file of SOURCES) expect(unknownFiles(read(file), known), file).to.deep.equal([])
  })
})
