/** Compiles one file of test/compile by itself, and finds the lines with errors: those that there are, and those that it names. */
import { execFile } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const ROOT = new URL('..', import.meta.url).pathname
const run = promisify(execFile)

/** The project of a user may forbid them. */
const UNUSED = { noUnusedLocals: true, noUnusedParameters: true }

/** The lines on which the compiler finds an error, from 1. */
export async function errorLines(file: string): Promise<readonly number[]> {
  const project = join(ROOT, `test/compile/${file}.tsconfig.json`)
  writeFileSync(
    project,
    JSON.stringify({ extends: '../../tsconfig.json', compilerOptions: UNUSED, include: [file], exclude: [] }),
  )
  try {
    await run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', project, '--pretty', 'false'])
    return []
  } catch (error) {
    const { stdout } = error as { stdout: string }
    const lines = stdout.matchAll(new RegExp(`${file.replaceAll('.', '\\.')}\\((\\d+),`, 'g'))
    const found = [...lines].map(([, line]) => Number(line))
    const all = stdout.match(/^\S.*: error TS/gm) ?? []
    if (all.length !== found.length) throw new Error(`a file beside it doesn't compile:\n${stdout}`)
    return found
  } finally {
    rmSync(project)
  }
}

/** The lines that say `// error:`, from 1. */
export function expectedLines(file: string): readonly number[] {
  const lines = readFileSync(join(ROOT, 'test/compile', file), 'utf8').split('\n')
  return lines.flatMap((line, i) => (line.includes('// error:') ? [i + 1] : []))
}
