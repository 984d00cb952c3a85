/**
 * The part of SARIF 2.1.0 that is used here, as a JSON Schema, with no other properties than the ones the standard has.
 * https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html, sections 3.13 to 3.51
 */
import type { AnySchemaObject } from 'ajv'

const text = { type: 'string', minLength: 1 }
const level = { enum: ['none', 'note', 'warning', 'error'] }
const message = objectOf({ text })

const rule = objectOf({
  id: text,
  shortDescription: message,
  help: message,
  defaultConfiguration: objectOf({ level }),
})

const physicalLocation = objectOf({
  artifactLocation: objectOf({ uri: { type: 'string', pattern: "^[A-Za-z0-9._~:/?#[\\]@!$&'()*+,;=%-]+$" } }),
  region: objectOf({ startLine: { type: 'integer', minimum: 1 }, startColumn: { type: 'integer', minimum: 1 } }),
})

const result = objectOf({
  ruleId: text,
  level,
  message,
  locations: listOf(objectOf({ physicalLocation })),
})

const invocation = objectOf({
  executionSuccessful: { type: 'boolean' },
  toolExecutionNotifications: listOf(objectOf({ level, message })),
})

export const SARIF_SHAPE: AnySchemaObject = objectOf({
  $schema: { type: 'string', pattern: '^https://.*sarif-schema-2\\.1\\.0\\.json$' },
  version: { const: '2.1.0' },
  runs: listOf(
    objectOf({
      tool: objectOf({ driver: objectOf({ name: text, rules: listOf(rule) }) }),
      invocations: listOf(invocation),
      columnKind: { enum: ['utf16CodeUnits', 'unicodeCodePoints'] },
      results: listOf(result),
    }),
  ),
})

function objectOf(properties: Readonly<Record<string, unknown>>): AnySchemaObject {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false }
}

function listOf(items: unknown): AnySchemaObject {
  return { type: 'array', items }
}
