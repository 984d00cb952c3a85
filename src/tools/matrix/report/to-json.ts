/** A run for programs; docs/schemas/matrix-test.schema.json is its shape. */
import { columnText, expectedText, objectText } from '../read/expectation.ts'
import type { Result } from '../run/result.ts'
import { countOf, countsByFile, type Run } from '../run/result.ts'

export function toJson(run: Run): string {
  const { results, milliseconds, startedAt, url, remarks } = run
  const report = {
    ...(url === undefined ? {} : { url }),
    startedAt,
    milliseconds: Math.round(milliseconds),
    counts: countOf(results),
    files: [...countsByFile(run)].map(([file, counts]) => ({ file, counts })),
    remarks,
    results: results.map(resultJson),
  }
  return `${JSON.stringify(report, null, 2)}\n`
}

function resultJson({
  kind,
  title,
  place,
  outcome,
  why,
  cause,
  explain,
  exchanges,
  milliseconds,
  expectation,
  status,
}: Result) {
  return {
    kind,
    title,
    place,
    outcome,
    ...(why === undefined ? {} : { why }),
    ...(cause === undefined ? {} : { cause }),
    ...(explain === undefined ? {} : { explain }),
    ...(status === undefined ? {} : { status }),
    milliseconds: Math.round(milliseconds * 1000) / 1000,
    ...(expectation ? { cell: cellJson(expectation) } : {}),
    exchanges,
  }
}

function cellJson({ method, path, object, column, body, note, expected }: NonNullable<Result['expectation']>) {
  return {
    method,
    path,
    object: objectText(object),
    column: columnText(column),
    ...(body === undefined ? {} : { body }),
    ...(note === undefined ? {} : { note }),
    expected: expectedText(expected),
  }
}
