/** A run for CI systems: one suite for each file, one test for each cell. */
import junit, { type Builder, type TestSuite } from 'junit-report-builder'
import type { Exchange, Result, Run } from '../run/result.ts'

/** Characters that XML 1.0 can't say (section 2.2); the builder escapes the rest. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const UNSAYABLE = /[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]/gu

export function toJunit(run: Run): string {
  // Its types describe its CommonJS form, where the builder is the default export's default.
  const builder = (junit as unknown as Builder).newBuilder()
  for (const [file, results] of Map.groupBy(run.results, ({ place }) => place.file)) {
    const suite = builder.testSuite().name(sayable(file)).timestamp(run.startedAt)
    suite.time(seconds(results.reduce((sum, { milliseconds }) => sum + milliseconds, 0)))
    for (const result of results) addCase(suite, result)
  }
  return builder.build()
}

function addCase(suite: TestSuite, result: Result): void {
  const { title, place, outcome, why = '', milliseconds } = result
  const test = suite.testCase().className(sayable(place.file)).name(sayable(title)).time(seconds(milliseconds))
  test.file(sayable(`${place.file}:${place.line}`))
  if (outcome === 'failed') test.failure(sayable(detailOf(result)))
  if (outcome === 'impossible') test.error(sayable(why))
  if (outcome === 'left-out') test.skipped()
}

function detailOf({ place, why = '', explain, exchanges }: Result): string {
  const where = `${place.file}:${place.line}:${place.column}: ${why}`
  return [where, ...(explain ? [`why: ${explain}`] : []), ...exchanges.map(exchangeText)].join('\n')
}

function exchangeText({ request, answer }: Exchange): string {
  const body = request.body === undefined ? '' : ` ${JSON.stringify(request.body)}`
  const sent = `> ${request.method} ${request.url}${body}`
  return answer ? `${sent}\n< ${answer.status} ${answer.text}` : sent
}

function sayable(text: string): string {
  return text.replace(UNSAYABLE, '\uFFFD')
}

function seconds(milliseconds: number): number {
  return Math.round(milliseconds) / 1000
}
