/** What became of the mutants, for programs; docs/schemas/matrix-mutate.schema.json is its shape. */
import { columnText, expectedText, objectText } from '../read/expectation.ts'
import type { Verdict } from './judge-mutant.ts'
import { type Judged, type Mutation, scoreOf } from './mutate.ts'
import { pasteOf } from './paste.ts'
import type { Witness } from './witness.ts'

export function formatJson(mutation: Mutation): string {
  const count = (kind: Verdict['kind']) => mutation.judged.filter(({ verdict }) => verdict.kind === kind).length
  const json = {
    score: scoreOf(mutation),
    killed: count('killed'),
    survived: count('survived'),
    equivalent: count('equivalent'),
    invalid: count('invalid'),
    unmet: mutation.unmet,
    unpredictable: mutation.unpredictable,
    unasked: mutation.unasked,
    mutants: mutation.judged.map(mutantJson),
  }
  return `${JSON.stringify(json, undefined, 2)}\n`
}

function mutantJson({ mutant, verdict }: Judged) {
  const { operator, file, line, change } = mutant
  return { operator, place: `${file}:${line}`, change, outcome: verdict.kind, ...detailOf(verdict) }
}

function detailOf(verdict: Verdict) {
  switch (verdict.kind) {
    case 'killed':
      return { by: `${verdict.by.file}:${verdict.by.line}:${verdict.by.column}` }
    case 'invalid':
      return { why: verdict.why }
    case 'equivalent':
      return { proof: verdict.proof }
    case 'survived':
      return { witness: witnessJson(verdict.witness) }
  }
}

function witnessJson(witness: Witness) {
  const { cell, expected } = witness
  const request = {
    method: cell.method,
    path: cell.path,
    object: objectText(cell.object),
    column: columnText(cell.column),
    ...(cell.content === undefined ? {} : { body: cell.content }),
    expected: expectedText(expected),
  }
  if (witness.kind === 'cell') return { ...request, rows: pasteOf(witness).rows }
  return witness.value ? { ...request, value: witness.value } : request
}
