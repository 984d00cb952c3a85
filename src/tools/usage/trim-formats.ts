/** What was trimmed, why the rest stays, and the proof. */
import { rulePlace } from '../../decide/evidence.ts'
import { printable } from '../../present/quote.ts'
import { formatsOf, section } from '../../present/report.ts'
import { count } from '../../present/text.ts'
import type { GrantPart } from './parts.ts'
import { isProven, type Trimmed } from './trim.ts'

export const TRIM_FORMATS = formatsOf((trimmed: Trimmed) => {
  const { out, removed, stay, proof, usage } = trimmed
  const undecided = usage.lines.filter(({ use }) => use === 'undecided').length
  return {
    text: () =>
      [
        removed.length === 0 ? ['Nothing was removed.'] : section(`Removed: ${removed.length}`, removed.map(grantText)),
        section(
          'Nobody needed these, and they stay',
          stay.map(({ grant, why }) => `${grantText(grant)}: ${why}`),
        ),
        undecided === 0
          ? []
          : [`Lines that stay because the logs do not show everything (see \`policy usage\`): ${undecided}`],
        section(isProven(trimmed.proof) ? `${out} is proven:` : `${out} is NOT proven: do not apply it`, [
          `replay: ${count(proof.replayed, 'request')}, ${proof.different} answered otherwise` +
            (proof.notReplayed === 0 ? '' : `; ${proof.notReplayed} more can't be decided again`),
          `check and guarantees: ${count(proof.errors, 'error')}`,
          `matrices: ${proof.unmet} of ${count(proof.expectations, 'expectation')} no longer met`,
          `diff: ${proof.narrowing} narrowing, ${proof.widening} widening`,
        ]),
      ].map((block) => block.map(printable)),
    /** docs/schemas/policy-trim.schema.json is the shape. */
    json: () => ({
      out,
      removed: removed.map(grantOf),
      stay: stay.map(({ grant, why }) => ({ ...grantOf(grant), why })),
      undecided,
      proven: isProven(proof),
      proof,
    }),
  }
})

function grantOf({ kind, name, of }: GrantPart) {
  return { rule: rulePlace(of.line), kind, name }
}

function grantText({ kind, name, of }: GrantPart): string {
  return kind === 'line' ? rulePlace(of.line) : `${rulePlace(of.line)}, ${kind} ${name}`
}
