/** Test results as JUnit's XML, which CI systems read: https://github.com/testmoapp/junitxml */
import { Html, html } from './html.ts'

export interface TestSuite {
  readonly name: string
  /** ISO 8601. */
  readonly timestamp: string
  readonly cases: readonly TestCase[]
}

export interface TestCase {
  readonly name: string
  /** With its line: `notes.csv:3`. */
  readonly file: string
  readonly milliseconds: number
  readonly outcome: 'passed' | 'failure' | 'error' | 'skipped'
  readonly message?: string
}

export function junitText(suites: readonly TestSuite[]): string {
  const all = suites.flatMap(({ cases }) => cases)
  return html`<?xml version="1.0" encoding="UTF-8"?>
<testsuites ${countsXml(all)}>
${suites.map(suiteXml)}</testsuites>
`.text
}

function suiteXml({ name, timestamp, cases }: TestSuite): Html {
  const time = seconds(cases.reduce((sum, { milliseconds }) => sum + milliseconds, 0))
  const about = html`name="${sayable(name)}" timestamp="${timestamp}" time="${time}" ${countsXml(cases)}`
  return html`  <testsuite ${about}>\n${cases.map((one) => caseXml(name, one))}  </testsuite>\n`
}

function countsXml(cases: readonly TestCase[]): Html {
  const count = (wanted: TestCase['outcome']) => cases.filter(({ outcome }) => outcome === wanted).length
  const red = html`failures="${count('failure')}" errors="${count('error')}"`
  return html`tests="${cases.length}" ${red} skipped="${count('skipped')}"`
}

function caseXml(suite: string, { name, file, milliseconds, outcome, message }: TestCase): Html {
  const where = html`file="${sayable(file)}"`
  const test = html`classname="${sayable(suite)}" name="${sayable(name)}" time="${seconds(milliseconds)}" ${where}`
  if (outcome === 'passed') return html`    <testcase ${test}/>\n`
  const why = message !== undefined && html` message="${sayable(message)}"`
  return html`    <testcase ${test}>\n      <${outcome}${why}/>\n    </testcase>\n`
}

/** Characters that XML 1.0 can't say (section 2.2). */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const NOT_IN_XML = /[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]/gu

/** An attribute has the end of a line only as a reference. */
function sayable(text: string): Html {
  const { text: escaped } = html`${text.replace(NOT_IN_XML, '\uFFFD')}`
  return new Html(escaped.replace(/[\t\n\r]/g, (one) => `&#${one.charCodeAt(0)};`))
}

function seconds(milliseconds: number): number {
  return Math.round(milliseconds) / 1000
}
