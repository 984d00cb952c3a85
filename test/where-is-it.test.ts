/** CONTRIBUTING.md, "Where is it": each folder and file is there, and the answer to the question is nowhere else. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** The code that answers each question, in the order of the page. */
const ANSWERS: readonly RegExp[] = [
  /This path does not accept the method; use one of/,
  /^ {2}readonly kind: 'attribute'$/m,
  /\bsegmentSql\(/,
  /from 'casbin'/,
  /redis\.call\(/,
  /status: 405, title\b/,
  /\bjwtVerify\(/,
  /class LivePolicy\b/,
  /new Problem\('idempotency-key-reused'/,
  /function answerEvaluation\(/,
]

interface Row {
  readonly question: string
  /** From `src/` on, with a slash at the end. */
  readonly folders: readonly string[]
  readonly file: string
}

function rowsOf(page: string): readonly Row[] {
  const [, section = ''] = /^## Where is it\n(.*?)^## /ms.exec(page) ?? []
  return [...section.matchAll(/^\| (.+\?) \| (.+) \| (.+) \|$/gm)].map(
    ([, question = '', folders = '', file = '']) => ({
      question,
      folders: [...folders.matchAll(/\[`([\w/-]+\/)`\]\(src\/\1\)/g)].map(([, folder = '']) => folder),
      file: /`([\w.-]+)`/.exec(file)?.[1] ?? '',
    }),
  )
}

/** What is wrong with a row, given the texts of `src/` by path. */
function faultsOf({ question, folders, file }: Row, answer: RegExp, texts: ReadonlyMap<string, string>) {
  const paths = folders.map((folder) => `${folder}${file}`)
  const found = [...texts].filter(([, text]) => answer.test(text)).map(([path]) => path)
  const missing = paths.filter((path) => !found.includes(path))
  const elsewhere = found.filter((path) => !folders.some((folder) => path.startsWith(folder)))
  const none = paths.length === 0 ? ['no folder'] : []
  return [...none, ...missing, ...elsewhere].map((what) => `${question} ${what}`)
}

describe('"Where is it" of CONTRIBUTING.md', () => {
  const files = readdirSync(`${ROOT}src`, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
  const texts = new Map(files.map((name) => [name, readFileSync(`${ROOT}src/${name}`, 'utf8')]))
  const rows = rowsOf(readFileSync(`${ROOT}CONTRIBUTING.md`, 'utf8'))

  it('asks ten questions', () => {
    expect(rows).to.have.length(ANSWERS.length)
    const paths = rows.flatMap(({ folders, file }) => folders.map((folder) => `${ROOT}src/${folder}${file}`))
    expect(paths.filter((path) => !existsSync(path))).to.deep.equal([])
  })

  it('names the one folder that has the answer', () => {
    expect(rows.flatMap((row, at) => faultsOf(row, ANSWERS[at] as RegExp, texts))).to.deep.equal([])
  })

  it('an answer that has moved, that stands in two folders, or that has no folder would be found', () => {
    const [row] = rowsOf('## Where is it\n| What? | [`a/b/`](src/a/b/) | `c.ts` |\n## Next\n')
    expect(row).to.deep.equal({ question: 'What?', folders: ['a/b/'], file: 'c.ts' })
    const faults = (...there: readonly string[]) => row && faultsOf(row, /x/, new Map(there.map((path) => [path, 'x'])))
    expect(faults('a/b/c.ts', 'a/b/d.ts')).to.deep.equal([])
    expect(faults('a/d/c.ts')).to.deep.equal(['What? a/b/c.ts', 'What? a/d/c.ts'])
    expect(faults('a/b/c.ts', 'a/d/c.ts')).to.deep.equal(['What? a/d/c.ts'])
    expect(row && faultsOf({ ...row, folders: [] }, /x/, new Map())).to.deep.equal(['What? no folder'])
  })
})
