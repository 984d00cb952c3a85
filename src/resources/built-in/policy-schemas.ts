/** What questions about the policy take and give, as JSON Schemas: the server checks bodies with them, and OpenAPI shows them. */
import type { Json } from '../resource.ts'
import type { JsonObject } from '../schema/schema-file.ts'
import { closedObjectOf, listOf, objectOf, TEXT } from './make.ts'

/** In characters: the longest name, path or id in a question. */
const LONGEST = 2048

export const ONE: JsonObject = { type: 'string', minLength: 1, maxLength: LONGEST }
export const SOME = listOf(ONE, { maxItems: 100, uniqueItems: true })
export const TIME: JsonObject = { description: 'Decide for this time (now).', ...ONE }
export const RECORDS_SINCE: JsonObject = {
  description: 'Only records of this time or later: 2026-12-04T18:00:00Z, or 1h.',
  ...ONE,
}
export const METHOD: JsonObject = { type: 'string', pattern: '^[A-Z]{1,20}$' }

/** The text of a file of a draft, in characters: some ten thousand rules. */
const LONGEST_FILE = 4_000_000

export type MemberSchemas = Readonly<Record<string, Json>>

const RESULT: MemberSchemas = {
  command: { description: 'The command line that gives the same.', type: 'string' },
  findings: { description: 'The command found something: its exit code was 1.', type: 'boolean' },
}

function ofCommand(result: Json): JsonObject {
  return objectOf({ ...RESULT, result })
}

export const ANSWER: JsonObject = {
  ...ofCommand({ description: 'What the command prints as JSON; docs/schemas/ describes it.' }),
  title: 'PolicyAnswer',
  description: 'The answer of a command.',
}

const OR_NULL: JsonObject = { anyOf: [ANSWER, { type: 'null' }] }

const TEXTS: JsonObject = { type: 'object', additionalProperties: TEXT }

export const FILES: JsonObject = {
  title: 'PolicyFiles',
  description: 'The files that the policy in force was made of.',
  ...closedObjectOf({
    revision: TEXT,
    since: { description: 'This instance has decided by it from then on.', type: 'string', format: 'date-time' },
    source: { description: 'Where the files come from.', enum: ['folder', 'published'] },
    faults: { description: 'Why newer files are not in force.', ...listOf(TEXT) },
    files: { description: 'The texts by file name.', ...TEXTS },
    schemas: { description: 'The schema files that it is read with, by file name.', ...TEXTS },
  }),
}

export const VERSION: JsonObject = {
  description: '`database:` for the last version, or `database:` with a number or a revision.',
  type: 'string',
  pattern: '^database:(\\d{1,9}|[0-9a-f]{16})?$',
}

export const VERSION_FILES: JsonObject = {
  title: 'PolicyVersionFiles',
  description: 'What the command says, and the texts of the files.',
  ...ofCommand({ type: 'object', properties: { files: TEXTS }, required: ['files'], additionalProperties: true }),
}

export const DECISIONS: JsonObject = {
  title: 'PolicyDecisions',
  description: 'Decision records, the newest last.',
  ...ofCommand(closedObjectOf({ records: listOf({ type: 'object', additionalProperties: true }) })),
}

export const OF_RECORDS: MemberSchemas = {
  subject: ONE,
  role: ONE,
  resource: ONE,
  action: ONE,
  outcome: { enum: ['allowed', 'refused', 'failed'] },
  status: { type: 'integer', minimum: 100, maximum: 599 },
  route: ONE,
  rule: { description: 'Only what this line decided: policy.csv:28.', ...ONE, pattern: '^[^/:\\s]+:[1-9]\\d*$' },
  requestId: ONE,
}

export const EVENTS: JsonObject = {
  title: 'PolicyDecisionEvents',
  description:
    'Server-sent events: `decision` with a record as `data` and its request as `id`; `reset` where the event of `after` ' +
    'is too far back to go on from it.',
  type: 'string',
}

export const DRAFT: JsonObject = {
  title: 'PolicyDraft',
  description: 'What these files would mean: their findings, and what changes. `diff` is null for files with errors.',
  ...closedObjectOf({ check: ANSWER, diff: OR_NULL }),
}

/** The person's key is never the server's: it signs in the browser, or wherever the client is. */
export const SIGNING_KEY: JsonObject = {
  description:
    '`to-sign:` and the thumbprint of the public key (RFC 7638): the answer has `toSign`. Then the same question again, ' +
    'with `signed:`, that text, a point, and its Ed25519 signature in base64url.',
  type: 'string',
  pattern: '^(to-sign:[\\w-]{43}|signed:[\\w-]+\\.[\\w-]+\\.[\\w-]{86})$',
  maxLength: 100_000,
}

export const USER: JsonObject = { description: 'user:<id>, or an e-mail address.', ...ONE }
export const LINE: JsonObject = { type: 'string', minLength: 1, maxLength: 1000 }
export const DURATION: JsonObject = { description: 'Such as 30m or 4h.', ...ONE }
export const NUMBER: JsonObject = { type: 'integer', minimum: 1, maximum: 999_999_999 }

/** Of a report: a hundred thousand lines have as many numbers, at worst. */
export const LINE_NUMBERS: JsonObject = {
  description: 'Numbers of rows of the report, in order: `1-40,42`.',
  type: 'string',
  pattern: '^[1-9]\\d{0,6}(-[1-9]\\d{0,6})?(,[1-9]\\d{0,6}(-[1-9]\\d{0,6})?)*$',
  maxLength: 1_000_000,
}

const POLICY_FILE = '^[a-z]{1,40}\\.[a-z]{1,10}$'

export const FILE: JsonObject = { description: 'Its name in policies/.', type: 'string', pattern: POLICY_FILE }

export const CHANGED_FILES: JsonObject = {
  description: 'The texts of the files, by their names in policies/. Others stay as they are; null removes one.',
  type: 'object',
  minProperties: 1,
  maxProperties: 20,
  propertyNames: { pattern: POLICY_FILE },
  additionalProperties: { type: ['string', 'null'], maxLength: LONGEST_FILE },
}

/** What runs matrices takes long, so it says which policy it means. */
export const FILES_OR_NONE: JsonObject = {
  ...CHANGED_FILES,
  description: 'Files of a draft, as for `draft`; an empty object means the policy in force.',
  minProperties: 0,
}

/** A name of one folder, so it leads nowhere else. */
const FILE_NAME = '[^/\\\\.\\u0000-\\u001f][^/\\\\\\u0000-\\u001f]{0,59}'

/** Cells of matrices, and what they send, beside those of the server. */
export const BROUGHT: MemberSchemas = {
  matrices: {
    description: 'Rows of matrices, the heads first, in place of those of the server with the same file name.',
    type: 'object',
    minProperties: 1,
    maxProperties: 100,
    propertyNames: { pattern: `^${FILE_NAME}\\.[cC][sS][vV]$` },
    additionalProperties: listOf(listOf({ type: 'string', maxLength: 10_000 }, { maxItems: 200 }), {
      maxItems: 100_000,
    }),
  },
  bodies: {
    description: 'JSON texts that cells of the column `body` name.',
    type: 'object',
    minProperties: 1,
    maxProperties: 1000,
    propertyNames: { pattern: `^${FILE_NAME}$` },
    additionalProperties: { type: 'string', maxLength: 100_000 },
  },
}

export const MATRIX_RUN: JsonObject = {
  title: 'PolicyMatrixRun',
  description: 'The rows that were run, and the result. `test` is null for rows with faults.',
  ...closedObjectOf({ matrices: ANSWER, test: OR_NULL }),
}

export const NEW_MATRICES: JsonObject = {
  title: 'PolicyNewMatrices',
  description: 'What the command would write: rows, and bodies by file name. `matrices` is null if nothing is missing.',
  ...closedObjectOf({ init: ANSWER, matrices: OR_NULL, bodies: TEXTS }),
}
