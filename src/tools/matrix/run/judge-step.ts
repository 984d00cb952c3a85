/** Whether a step was answered as expected, and if not, what is different, in one sentence. */
import type { Representation } from '../../../resources/resource.ts'
import type { StepExpected } from '../read/case.ts'
import type { HttpAnswer } from '../target/http.ts'

/** `view`: the fields of the view that is expected. */
export function judgeStep(
  expected: StepExpected,
  answer: HttpAnswer,
  view: ReadonlySet<string> | undefined,
): string | undefined {
  if (answer.status !== expected.status) return `${expected.status} was expected, and the answer is ${answer.status}`
  const fields = view ?? (expected.fields ? new Set(expected.fields) : undefined)
  return headerFault(expected, answer) ?? (fields ? fieldFault(fields, answer) : undefined)
}

function headerFault({ headers = {} }: StepExpected, answer: HttpAnswer): string | undefined {
  for (const [name, wanted] of Object.entries(headers)) {
    const found = answer.headers[name.toLowerCase()]
    if (found === undefined) return `the answer has no header \`${name}\``
    if (!fits(wanted, found)) return `the header \`${name}\` is \`${found}\`, not \`${wanted}\``
  }
  return undefined
}

function fits(pattern: string, text: string): boolean {
  const parts = pattern.split('*').map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`, 's').test(text)
}

/** Of a list each row counts; a list without rows shows no field. */
function fieldFault(fields: ReadonlySet<string>, { json }: HttpAnswer): string | undefined {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return 'the answer shows no object'
  const items = (json as Representation).items
  const rows = (Array.isArray(items) ? items : [json]) as readonly Representation[]
  if (rows.length === 0) return 'the list has no rows, so no field is shown'
  const wrong = rows.find((row) => new Set(Object.keys(row)).symmetricDifference(fields).size > 0)
  if (!wrong) return undefined
  const quoted = (names: Iterable<string>) => [...names].map((name) => `\`${name}\``).join(', ')
  return `the fields ${quoted(fields)} were expected, and ${quoted(Object.keys(wrong)) || 'none'} are shown`
}
