/** The official JSON Schema of SARIF 2.1.0, as code hosts check it. */
import standard from '@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json' with { type: 'json' }
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'

// It is written for draft 4, but has no keyword whose meaning changed since, so only its names are left out.
const { $schema, id, ...schema } = standard
const ajv = new Ajv({ strict: false, allErrors: true, unicodeRegExp: false })
addFormats.default(ajv)
const validate = ajv.compile(schema)

/** One sentence for each fault; none for a log that follows the standard. */
export function sarifFaults(log: unknown): readonly string[] {
  validate(log)
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
}
