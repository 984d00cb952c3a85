/** What became of the mutants, for people: those that nobody noticed first, with what would notice them. */

import { leftOutLines } from '../predict/stated.ts'
import { columnText, objectText } from '../read/expectation.ts'
import type { Verdict } from './judge-mutant.ts'
import { type Judged, type Mutation, scoreOf } from './mutate.ts'
import { pasteOf } from './paste.ts'
import type { Witness } from './witness.ts'

export function formatText(mutation: Mutation): string {
  const of = <K extends Verdict['kind']>(kind: K) => mutation.judged.filter(({ verdict }) => verdict.kind === kind)
  return [
    ...section('Survived: no expectation notices', of('survived'), survivorLines),
    ...section('Equivalent: no request would be answered differently', of('equivalent'), (one) => [placeLine(one)]),
    ...leftOutLines(mutation),
    summaryLine(mutation),
    '',
  ].join('\n')
}

function section(
  title: string,
  judged: readonly Judged[],
  lines: (one: Judged) => readonly string[],
): readonly string[] {
  return judged.length === 0
    ? []
    : [title, ...judged.flatMap(lines).map((line) => (line === '' ? '' : `  ${line}`)), '']
}

function survivorLines(one: Judged): readonly string[] {
  const { verdict } = one
  return verdict.kind === 'survived'
    ? [placeLine(one), ...witnessLines(verdict.witness).map((line) => `  ${line}`), '']
    : []
}

function placeLine({ mutant }: Judged): string {
  return `${mutant.file}:${mutant.line}  ${mutant.operator}  ${mutant.change}`
}

function witnessLines(witness: Witness): readonly string[] {
  if (witness.kind === 'fields') return fieldLines(witness)
  const { rows, body } = pasteOf(witness)
  const noticing = ['this would notice:', ...rows.trimEnd().split('\n')]
  return body ? [...noticing, `with bodies/${body.file}: ${body.json}`] : noticing
}

/** A matrix says the same of other fields then; a case can name them. */
function fieldLines({ cell, expected, value }: Witness & { readonly kind: 'fields' }): readonly string[] {
  const request = `${cell.method} ${cell.path} (${objectText(cell.object)}) as ${columnText(cell.column)}`
  const where = value ? `, with ${value.field} ${JSON.stringify(value.value)} in the object,` : ''
  return [`a case in steps that names the fields would notice: ${request}${where} is ${expected.status}`]
}

function summaryLine(mutation: Mutation): string {
  const count = (kind: Verdict['kind']) => mutation.judged.filter(({ verdict }) => verdict.kind === kind).length
  const others = `${count('equivalent')} equivalent, ${count('invalid')} invalid`
  const noticed = `${count('killed')} noticed, ${count('survived')} survived`
  return `${mutation.judged.length} mutants: ${noticed}, ${others}. Score ${percentText(scoreOf(mutation))} %`
}

/** Never rounded up to a threshold that isn't reached. */
function percentText(percent: number): string {
  return String(Math.floor(percent * 10) / 10)
}
