/** Which files are run by which command: `npm test`, `npm run test:soak`, `npm run test:scale`. */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { inTurn, SEED } from './runs.ts'

const ROOT = new URL('..', import.meta.url).pathname

/** A file that asks it how much to do does more in soak. */
const AMOUNTS = 'test/runs.ts'

/** Paths from the root: the slow tests, and those that do more in soak. */
export function soakFiles(): readonly string[] {
  const larger = globSync('test/**/*.test.ts', { cwd: ROOT }).filter((file) => reaches(file, AMOUNTS))
  return [...globSync('test/**/*.soak.ts', { cwd: ROOT }), ...larger].toSorted()
}

/** For the turns of files: the lower digits are those of the parts within a file, which must not follow the files. */
const FILES_SEED = SEED >>> 10

/** Of these, the files of one soak: of those that do more in soak, each commit runs a tenth. */
export function soakFilesNow(seed = FILES_SEED): readonly string[] {
  const [slow = [], larger = []] = [true, false].map((isSlow) => {
    return soakFiles().filter((file) => file.endsWith('.soak.ts') === isSlow)
  })
  return [...slow, ...inTurn(larger, 10, seed)]
}

/**
 * Of the tests of a file, given by their functions as texts, those that ask no amount. None, if something else in the
 * file asks one: it may be for any of the tests.
 */
export function sameInSoak(file: string, bodies: readonly string[]): readonly string[] {
  const text = readFileSync(join(ROOT, file), 'utf8')
  const inTests = [...new Set(bodies)].reduce((sum, body) => sum + amountsIn(body), 0)
  const isAskedElsewhere = importsOf(file).some((path) => path !== AMOUNTS && reaches(path, AMOUNTS))
  if (!file.endsWith('.test.ts') || isAskedElsewhere || amountsIn(text) !== inTests) return []
  return bodies.filter((body) => amountsIn(body) === 0)
}

function amountsIn(text: string): number {
  // Types between the name and the bracket are blanks in a function's text.
  return text.match(/\b(soak|runs|drawing|shareOf|fewOf|inTurn)\s*[<(]/g)?.length ?? 0
}

/** Whether a file of the tests imports another one, itself or through others. Both are paths from the root. */
export function reaches(file: string, target: string, seen: Set<string> = new Set()): boolean {
  if (file === target) return true
  if (seen.has(file)) return false
  seen.add(file)
  return importsOf(file).some((path) => reaches(path, target, seen))
}

const known = new Map<string, readonly string[]>()

function importsOf(file: string): readonly string[] {
  const imports = known.get(file) ?? readImports(file)
  known.set(file, imports)
  return imports
}

function readImports(file: string): readonly string[] {
  const imported = readFileSync(join(ROOT, file), 'utf8').matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+\.ts)'/g)
  return [...imported]
    .map(([, to = '']) => normalize(join(dirname(file), to)))
    .filter((path) => path.startsWith('test/') && existsSync(join(ROOT, path)))
}
