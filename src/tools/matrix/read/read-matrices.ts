/** The matrix files of a folder, or those that are named, as expectations. */
import { readdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Diagnostic, FileError, refuseFaults, type SourceFile } from '../../../base/diagnostic.ts'
import { readProjectFile } from '../../../base/files/project-file.ts'
import { isObject } from '../../../base/is-object.ts'
import type { Json } from '../../../resources/resource.ts'
import {
  columnText,
  type Expectation,
  type Expected,
  expectedText,
  isUnconditional,
  objectText,
  rowsText,
} from './expectation.ts'
import { parseMatrix } from './matrix-file.ts'

/** The files of expectations: matrices, and cases in steps (cases.ts). */
export interface MatrixFiles {
  readonly matrices: readonly string[]
  readonly cases: readonly string[]
}

/** A folder stands for its `*.csv`, `*.yaml` and `*.yml`, sorted; subfolders aren't looked into. Throws FileError. */
export async function findMatrixFiles(paths: readonly string[]): Promise<MatrixFiles> {
  const found = [...new Set((await Promise.all(paths.map(filesOf))).flat())]
  return {
    matrices: found.filter((name) => !/\.ya?ml$/i.test(name)),
    cases: found.filter((name) => /\.ya?ml$/i.test(name)),
  }
}

/** All expectations of these files, in the order of files and rows. Throws FileError, with everything that is wrong. */
export async function readMatrices(
  files: readonly string[],
  read: ReadMatrixSource = readSource,
): Promise<readonly Expectation[]> {
  return refuseFaults(async (report) => {
    const sources = await Promise.all(files.map((file) => read(file, report)))
    const expectations = sources.flatMap((source) => (source ? parseMatrix(source, report) : []))
    reportContradictions(expectations, report)
    return expectations
  })
}

async function filesOf(path: string): Promise<readonly string[]> {
  const found = await stat(path).catch(() => undefined)
  if (!found) throw unreadable(path, 'there is no such file or folder')
  if (!found.isDirectory()) return [path]
  const names = (await readdir(path)).filter((name) => /\.(csv|ya?ml)$/i.test(name) && !name.startsWith('.')).sort()
  return names.map((name) => join(path, name))
}

/** Reads a file of expectations; undefined for one that can't be read, which goes to `report`. */
export type ReadMatrixSource = (
  name: string,
  report: (diagnostic: Diagnostic) => void,
) => Promise<SourceFile | undefined>

/** UTF-8, with or without a byte order mark. Text in any other encoding goes to `report`. */
export const readSource: ReadMatrixSource = async (name, report) => {
  const bytes = await readProjectFile(name, dirname(name)).catch((error: Error) => {
    report(...(unreadable(name, `the file can't be read: ${error.message}`).diagnostics as [Diagnostic]))
    return undefined
  })
  if (!bytes) return undefined
  try {
    return { name, text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) }
  } catch {
    const hint = 'in the spreadsheet program, save it as CSV UTF-8'
    report({
      file: name,
      line: 1,
      column: 1,
      code: 'not-utf8',
      severity: 'error',
      message: 'the file is not UTF-8',
      hint,
    })
    return undefined
  }
}

function unreadable(file: string, message: string): FileError {
  const hint = 'name a folder with matrices, or a matrix'
  return new FileError([{ file, line: 1, column: 1, code: 'file-unreadable', severity: 'error', message, hint }])
}

/**
 * Two cells may state the same about one request, or one may add what a list holds or shows. Other differences are
 * contradictions.
 */
function reportContradictions(expectations: readonly Expectation[], report: (diagnostic: Diagnostic) => void): void {
  for (const about of Map.groupBy(expectations, requestKey).values()) {
    // Thousands of rows may state the same.
    const stated = new Map<string, Expectation>()
    for (const one of about) {
      const before = stated.values().find(({ expected }) => contradicts(expected, one.expected))
      if (before) report(contradiction(before, one))
      stated.getOrInsert(expectedText(one.expected), one)
    }
  }
}

function contradicts(before: Expected, after: Expected): boolean {
  const differ = <T>(one: T | undefined, other: T | undefined) =>
    one !== undefined && other !== undefined && one !== other
  const rowsIn = ({ list }: Expected) => list && rowsText(list)
  return (
    differ(before.status, after.status) ||
    differ(before.told, after.told) ||
    differ(before.view, after.view) ||
    differ(rowsIn(before), rowsIn(after))
  )
}

/** The same for expectations about the same request. A request with `If-Match` differs from one without it. */
function requestKey(expectation: Expectation): string {
  const { method, path, object, column, event = '', when = [], becomes, body = '' } = expectation
  const about = [method, path, objectText(object), columnText(column), event, when, becomes ?? '', body]
  return JSON.stringify([...about, isUnconditional(expectation)])
}

function contradiction(before: Expectation, one: Expectation): Diagnostic {
  const { file, line, column } = before.place
  const mine = `\`${expectedText(one.expected)}\` for ${one.method} as \`${columnText(one.column)}\``
  const message = `this cell states ${mine}, but ${file}:${line}:${column} states \`${expectedText(before.expected)}\``
  return { ...one.place, code: 'matrix-contradiction', severity: 'error', message, hint: 'keep one of them' }
}

export type BodyFile =
  | { readonly kind: 'json'; readonly json: Json }
  | { readonly kind: 'unusable'; readonly why: string }

/** By the path of the file. */
export type Bodies = ReadonlyMap<string, BodyFile>

/** A file that can't be read, or isn't JSON, is unusable: cells that send it fail. Never rejects. */
export async function readBodies(expectations: readonly Pick<Expectation, 'body' | 'place'>[]): Promise<Bodies> {
  const matrices = new Map(expectations.flatMap(({ body, place }) => (body === undefined ? [] : [[body, place.file]])))
  const read = [...matrices].map(async ([file, matrix]) => [file, await readBody(file, dirname(matrix))] as const)
  return new Map(await Promise.all(read))
}

/** `folder`: of the matrix, whose cell may name any path. */
async function readBody(file: string, folder: string): Promise<BodyFile> {
  const text = await readProjectFile(file, folder).then(String, (error: NodeJS.ErrnoException) => error)
  if (typeof text !== 'string') {
    const { code, message } = text
    if (code !== undefined) return { kind: 'unusable', why: `there is no body file \`${file}\`` }
    return { kind: 'unusable', why: `the body file \`${file}\` can't be used: ${message}` }
  }
  try {
    return { kind: 'json', json: JSON.parse(text.replace(/^\uFEFF/, '')) as Json }
  } catch {
    return { kind: 'unusable', why: `the body file \`${file}\` is not JSON` }
  }
}

/** The object in a body file; undefined where there is no file, or no object in it. */
export function objectIn(bodies: Bodies, file: string): Readonly<Record<string, Json>> | undefined {
  const body = bodies.get(file)
  return body?.kind === 'json' && isObject(body.json) ? body.json : undefined
}
