/** The results of the mutants as a report, survivors first. */
import type { ConditionFacts } from '../../../decide/request-conditions/condition-kind.ts'
import { namesText } from '../../../present/quote.ts'
import { formatsOf, section } from '../../../present/report.ts'
import { percentText } from '../../../present/text.ts'
import { leftOutLines } from '../predict/expectations-met.ts'
import { columnText, expectedText } from '../read/expectation.ts'
import { situationText } from '../read/words.ts'
import { type JudgedMutant, type Mutation, scoreOf, type Verdict } from './judge-mutant.ts'
import { pasteOf, type Witness } from './witness.ts'

export const MUTATE_FORMATS = formatsOf((mutation: Mutation) => {
  const of = <K extends Verdict['kind']>(kind: K) => mutation.judged.filter(({ verdict }) => verdict.kind === kind)
  return {
    text: () => [
      section('Survived: no expectation notices', of('survived').flatMap(survivorLines).slice(0, -1)),
      section(
        'Not found: decisions differ, and no request that shows it was found',
        of('not-found').flatMap(notFoundLines),
      ),
      section('Equivalent: proven to change no decision', of('equivalent').map(placeLine)),
      section('Guarantees: how many mistakes each would refuse', guaranteeLines(mutation)),
      leftOutLines(mutation),
      [summaryLine(mutation)],
    ],
    json: () => toJson(mutation),
  }
})

function survivorLines(one: JudgedMutant): readonly string[] {
  const { verdict } = one
  return verdict.kind === 'survived'
    ? [placeLine(one), ...[...refusedBy(one), ...witnessLines(verdict.witness)].map((line) => `  ${line}`), '']
    : []
}

function refusedBy({ breaks }: JudgedMutant): readonly string[] {
  return breaks.length === 0 ? [] : [`no server would load it: it breaks ${namesText(breaks.map(({ name }) => name))}`]
}

function notFoundLines(one: JudgedMutant): readonly string[] {
  const { verdict } = one
  if (verdict.kind !== 'not-found') return []
  const differs = [...refusedBy(one), ...verdict.differs]
  return [placeLine(one), ...differs.map((text) => `  ${text}`), `  tried ${verdict.tried}`]
}

function guaranteeLines({ judged, guarantees }: Mutation): readonly string[] {
  return guarantees.map(({ name, place }) => {
    const noticed = judged.filter(({ breaks }) => breaks.some((one) => one.name === name))
    const only = noticed.filter(({ breaks }) => breaks.length === 1)
    const none = 'none: no mistake that was made breaks it'
    const many = `${noticed.length}, and ${only.length} of them no other guarantee`
    return `${place.file}:${place.line}  ${name}  ${noticed.length === 0 ? none : many}`
  })
}

function placeLine({ mutant }: JudgedMutant): string {
  return `${mutant.file}:${mutant.line}  ${mutant.operator}  ${mutant.change}`
}

function witnessLines(witness: Witness): readonly string[] {
  if (witness.kind === 'fields') return fieldLines(witness)
  const { rows, body } = pasteOf(witness)
  const noticing = ['this row would notice it:', ...rows.trimEnd().split('\n')]
  return body ? [...noticing, `with bodies/${body.file}: ${body.json}`] : noticing
}

/** A matrix can't distinguish these fields; a case can name them. */
function fieldLines({
  cell,
  expected,
  value,
  meaning,
  telling,
  asksFor,
}: Witness & { readonly kind: 'fields' }): readonly string[] {
  const request = `${cell.method} ${cell.path} (${situationText(cell)}) as ${columnText(cell.column)}`
  if (meaning !== undefined && telling) {
    const only = `where \`${meaning}\` holds in only one of both meanings, ${requestText(telling)},`
    return [`no row of a matrix notices it: ${request}, ${only} is ${expected.status}`]
  }
  if (meaning !== undefined) {
    const only = `where \`${meaning}\` holds in only one of both meanings`
    return [`no row of a matrix notices it: ${request}, ${only}, is ${expected.status}`]
  }
  if (asksFor !== undefined)
    return [`no row of a matrix notices it: ${request}, asked by a gateway, is ${expected.status}`]
  const body = cell.content ? `, with the body ${JSON.stringify(cell.content)},` : ''
  const where = value ? `, with ${value.field} ${JSON.stringify(value.value)} in the object,` : body
  return [`a case in steps that names the fields would notice it: ${request}${where} is ${expected.status}`]
}

/** `from 192.0.3.0` */
function requestText({ now, address, credential, authTime, acr }: ConditionFacts): string {
  if (address !== undefined) return `from ${address}`
  if (credential !== undefined) return `with the credential ${credential}`
  if (authTime === undefined) return `at ${new Date(now).toISOString()}`
  return `signed in ${(now - authTime) / 1000} s ago${acr === undefined ? '' : ` with ${acr}`}`
}

function summaryLine(mutation: Mutation): string {
  const count = (kind: Verdict['kind']) => mutation.judged.filter(({ verdict }) => verdict.kind === kind).length
  const others = `${count('equivalent')} equivalent, ${count('invalid')} invalid`
  const noticed = `${count('killed')} noticed, ${count('survived')} survived, ${count('not-found')} not found`
  return `${mutation.judged.length} mutants: ${noticed}, ${others}. Score ${percentText(scoreOf(mutation))} %`
}

/** The shape is in docs/schemas/matrix-mutate.schema.json. */
function toJson(mutation: Mutation) {
  const count = (kind: Verdict['kind']) => mutation.judged.filter(({ verdict }) => verdict.kind === kind).length
  return {
    score: scoreOf(mutation),
    killed: count('killed'),
    survived: count('survived'),
    equivalent: count('equivalent'),
    invalid: count('invalid'),
    notFound: count('not-found'),
    unmet: mutation.unmet,
    unpredictable: mutation.unpredictable,
    unasked: mutation.unasked,
    guarantees: mutation.guarantees.map(({ name }) => ({
      name,
      notices: mutation.judged.filter(({ breaks }) => breaks.some((one) => one.name === name)).length,
    })),
    mutants: mutation.judged.map(mutantJson),
  }
}

function mutantJson({ mutant, verdict, breaks }: JudgedMutant) {
  const { operator, file, line, change } = mutant
  const guarantees = breaks.length === 0 ? {} : { guarantees: breaks.map(({ name }) => name) }
  return { operator, place: `${file}:${line}`, change, outcome: verdict.kind, ...detailOf(verdict), ...guarantees }
}

function detailOf(verdict: Verdict) {
  switch (verdict.kind) {
    case 'killed':
      return { by: `${verdict.by.file}:${verdict.by.line}:${verdict.by.column}` }
    case 'invalid':
      return { why: verdict.why }
    case 'equivalent':
      return {}
    case 'not-found':
      return { differs: verdict.differs, tried: verdict.tried }
    case 'survived':
      return { witness: witnessJson(verdict.witness) }
  }
}

function witnessJson(witness: Witness) {
  const { cell, expected } = witness
  const request = {
    method: cell.method,
    path: cell.path,
    object: situationText(cell),
    column: columnText(cell.column),
    ...(cell.content === undefined ? {} : { body: cell.content }),
    expected: expectedText(expected),
  }
  if (witness.kind === 'cell') return { ...request, rows: pasteOf(witness).rows }
  const { value, meaning, telling, asksFor } = witness
  const where = telling && { telling: requestText(telling) }
  const gateway = asksFor === undefined ? {} : { gateway: asksFor }
  return { ...request, ...(value && { value }), ...(meaning !== undefined && { meaning }), ...where, ...gateway }
}
