/**
 * `system/policy`: what can be known of the policy in force (docs/policy-api.md). Each question is answered as a command
 * answers it; the bodies name the command's options.
 */
import type { Json, Resource, Route } from '../resource.ts'
import type { JsonObject } from '../schema/schema-file.ts'
import { checkerOf } from '../validate/find-faults.ts'
import { action, askingRoute, builtIn, closedObjectOf, documentRoute, listOf, objectOf, TEXT } from './make.ts'

const NAME = 'system/policy'

/** The paths of its routes begin with it. */
export const POLICY_PATH = '/policy/v1/'

/** In characters: the longest name, path or id in a question. */
const LONGEST = 2048

const ONE: JsonObject = { type: 'string', minLength: 1, maxLength: LONGEST }
const SOME = listOf(ONE, { maxItems: 100, uniqueItems: true })
const TIME: JsonObject = { description: 'Decide for this time (now).', ...ONE }
const SINCE: JsonObject = { description: 'Only records of this time or later: 2026-12-04T18:00:00Z, or 1h.', ...ONE }
const METHOD: JsonObject = { type: 'string', pattern: '^[A-Z]{1,20}$' }

/** The text of a file of a draft, in characters: some ten thousand rules. */
const LONGEST_FILE = 4_000_000

type MemberSchemas = Readonly<Record<string, Json>>

interface PolicyQuestion {
  readonly name: string
  readonly action: string
  readonly summary: string
  /** The members of the body; undefined for a GET. */
  readonly takes?: { readonly required?: MemberSchemas; readonly optional?: MemberSchemas }
  /** What the answer holds beside the usual, or in place of it. */
  readonly gives?: JsonObject
  readonly streams?: true
}

const RESULT: MemberSchemas = {
  command: { description: 'The command line that gives the same.', type: 'string' },
  findings: { description: 'The command found something: its exit code was 1.', type: 'boolean' },
}

function ofCommand(result: Json): JsonObject {
  return objectOf({ ...RESULT, result })
}

const ANSWER: JsonObject = {
  ...ofCommand({ description: 'What the command prints as JSON; docs/schemas/ describes it.' }),
  title: 'PolicyAnswer',
  description: 'The answer of a command.',
}

const OR_NULL: JsonObject = { anyOf: [ANSWER, { type: 'null' }] }

const TEXTS: JsonObject = { type: 'object', additionalProperties: TEXT }

const FILES: JsonObject = {
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

const VERSION: JsonObject = {
  description: '`database:` for the last version, or `database:` with a number or a revision.',
  type: 'string',
  pattern: '^database:(\\d{1,9}|[0-9a-f]{16})?$',
}

const VERSION_FILES: JsonObject = {
  title: 'PolicyVersionFiles',
  description: 'What the command says, and the texts of the files.',
  ...ofCommand({ type: 'object', properties: { files: TEXTS }, required: ['files'], additionalProperties: true }),
}

const DECISIONS: JsonObject = {
  title: 'PolicyDecisions',
  description: 'Decision records, the newest last.',
  ...ofCommand(closedObjectOf({ records: listOf({ type: 'object', additionalProperties: true }) })),
}

const OF_RECORDS: MemberSchemas = {
  subject: ONE,
  role: ONE,
  resource: ONE,
  action: ONE,
  outcome: { enum: ['allowed', 'refused', 'failed'] },
  status: { type: 'integer', minimum: 100, maximum: 599 },
  route: ONE,
  rule: { description: 'Only what this line decided: policy.csv:28.', ...ONE },
  requestId: ONE,
}

const EVENTS: JsonObject = {
  title: 'PolicyDecisionEvents',
  description:
    'Server-sent events: `decision` with a record as `data` and its request as `id`; `reset` where the event of `after` ' +
    'is too far back to go on from it.',
  type: 'string',
}

const DRAFT: JsonObject = {
  title: 'PolicyDraft',
  description: 'What these files would mean: their findings, and what changes. `diff` is null for files with errors.',
  ...closedObjectOf({ check: ANSWER, diff: OR_NULL }),
}

/** The person's key is never the server's: it signs in the browser, or wherever the client is. */
const KEY: JsonObject = {
  description:
    '`to-sign:` and the thumbprint of the public key (RFC 7638): the answer has `toSign`. Then the same question again, ' +
    'with `signed:`, that text, a point, and its Ed25519 signature in base64url.',
  type: 'string',
  pattern: '^(to-sign:[\\w-]{43}|signed:[\\w-]+\\.[\\w-]+\\.[\\w-]{86})$',
  maxLength: 100_000,
}

const USER: JsonObject = { description: 'user:<id>, or an e-mail address.', ...ONE }
const LINE: JsonObject = { type: 'string', minLength: 1, maxLength: 1000 }
const DURATION: JsonObject = { description: 'Such as 30m or 4h.', ...ONE }
const NUMBER: JsonObject = { type: 'integer', minimum: 1, maximum: 999_999_999 }

/** Of a report: a hundred thousand lines have as many numbers, at worst. */
const LINE_NUMBERS: JsonObject = {
  description: 'Numbers of rows of the report, in order: `1-40,42`.',
  type: 'string',
  pattern: '^[1-9]\\d{0,6}(-[1-9]\\d{0,6})?(,[1-9]\\d{0,6}(-[1-9]\\d{0,6})?)*$',
  maxLength: 1_000_000,
}

const CHANGED_FILES: JsonObject = {
  description: 'The texts of the files, by their names in policies/. Others stay as they are; null removes one.',
  type: 'object',
  minProperties: 1,
  maxProperties: 20,
  propertyNames: { pattern: '^[a-z]{1,40}\\.[a-z]{1,10}$' },
  additionalProperties: { type: ['string', 'null'], maxLength: LONGEST_FILE },
}

/** A name of one folder, so it leads nowhere else. */
const FILE_NAME = '[^/\\\\.\\u0000-\\u001f][^/\\\\\\u0000-\\u001f]{0,59}'

/** Cells of matrices, and what they send, beside those of the server. */
const BROUGHT: MemberSchemas = {
  files: CHANGED_FILES,
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

const MATRIX_RUN: JsonObject = {
  title: 'PolicyMatrixRun',
  description: 'The rows that were run, and the result. `test` is null for rows with faults.',
  ...closedObjectOf({ matrices: ANSWER, test: OR_NULL }),
}

const NEW_MATRICES: JsonObject = {
  title: 'PolicyNewMatrices',
  description: 'What the command would write: rows, and bodies by file name. `matrices` is null if nothing is missing.',
  ...closedObjectOf({ init: ANSWER, matrices: OR_NULL, bodies: TEXTS }),
}

/** The answers of a policy against expectations: that in force, or a draft. */
const MATRICES: readonly PolicyQuestion[] = [
  { name: 'matrices', action: 'read', summary: 'Get the matrices of the server' },
  {
    name: 'matrix-find',
    action: 'read',
    summary: 'Find the cells of matrices that state the answer to a request',
    takes: { required: { method: METHOD, path: ONE }, optional: { roles: SOME } },
  },
  {
    name: 'matrix-test',
    action: 'draft',
    summary: 'Try the requests of matrices on a server of their own',
    takes: { optional: { ...BROUGHT, roles: SOME, resources: SOME } },
    gives: MATRIX_RUN,
  },
  {
    name: 'matrix-coverage',
    action: 'draft',
    summary: 'Get what the matrices state nothing about',
    takes: { optional: BROUGHT },
  },
  {
    name: 'matrix-mutate',
    action: 'draft',
    summary: 'Get the mistakes in a policy that the matrices do not notice',
    takes: { optional: { ...BROUGHT, resources: SOME, mistakes: SOME } },
  },
  {
    name: 'matrix-init',
    action: 'draft',
    summary: 'Get matrices that state what the policy answers',
    takes: { optional: { ...BROUGHT, missing: { type: 'boolean' }, roles: SOME } },
    gives: NEW_MATRICES,
  },
]

/** What people say about a proposal, and about a role for a time. */
const SAYINGS: readonly PolicyQuestion[] = [
  ['approve', 'Approve a proposal'],
  ['reject', 'Reject a proposal'],
  ['withdraw', 'Withdraw a proposal of your own'],
  ['approve-grant', 'Approve a request for a role'],
  ['revoke-grant', 'Take back a role for a time'],
].map(([name = '', summary = '']) => ({
  name,
  action: 'approve',
  summary,
  takes: { required: { number: NUMBER, key: KEY }, optional: { reason: LINE } },
}))

const QUESTIONS: readonly PolicyQuestion[] = [
  { name: 'files', action: 'read', summary: 'Get the files of the policy in force', gives: FILES },
  { name: 'check', action: 'read', summary: 'Get the findings and guarantees of the policy in force' },
  { name: 'versions', action: 'read', summary: 'List the versions of the policy' },
  { name: 'instances', action: 'read', summary: 'List the instances that follow the published policy' },
  { name: 'proposals', action: 'read', summary: 'List the proposed changes of the published policy' },
  { name: 'grants', action: 'read', summary: 'List the roles that callers have, had or asked for, for a time' },
  {
    name: 'matrix',
    action: 'read',
    summary: 'Get who can do what',
    takes: { optional: { roles: SOME, resources: SOME, relation: ONE, with: ONE, at: TIME } },
  },
  {
    name: 'version',
    action: 'read',
    summary: 'Get the files of a version or of a proposal',
    takes: { optional: { version: VERSION, proposal: NUMBER } },
    gives: VERSION_FILES,
  },
  {
    name: 'compare',
    action: 'read',
    summary: 'Compare two versions of the policy',
    takes: { required: { from: VERSION, to: VERSION } },
  },
  {
    name: 'review',
    action: 'read',
    summary: 'Get what a proposal means',
    takes: { required: { number: NUMBER } },
  },
  {
    name: 'explain',
    action: 'explain',
    summary: 'Explain the answer to a request',
    takes: {
      required: { method: METHOD, path: ONE },
      optional: {
        roles: SOME,
        subject: ONE,
        object: ONE,
        relation: ONE,
        with: ONE,
        address: ONE,
        becomes: ONE,
        at: TIME,
      },
    },
  },
  {
    name: 'explain-record',
    action: 'explain',
    summary: 'Explain a decision by the policy that made it',
    takes: { required: { requestId: ONE } },
  },
  {
    name: 'who',
    action: 'explain',
    summary: 'List who can make a request',
    takes: { required: { method: METHOD, path: ONE }, optional: { field: ONE, at: TIME } },
  },
  {
    name: 'of',
    action: 'explain',
    summary: 'List what a person or an API key can do',
    takes: {
      required: { subject: { description: 'user:<id> or key:<id>.', ...ONE } },
      optional: { objects: { description: 'Also list ids of objects.', type: 'boolean' }, at: TIME },
    },
  },
  {
    name: 'report',
    action: 'explain',
    summary: 'List what everybody can do, for a review',
    takes: { optional: { at: TIME } },
  },
  {
    name: 'review-access',
    action: 'explain',
    summary: 'Confirm and revoke lines of a report, signed by a person',
    takes: {
      required: {
        report: { description: 'The `digest` of the report.', type: 'string', pattern: '^[0-9a-f]{64}$' },
        key: { ...KEY, maxLength: 2_000_000 },
      },
      optional: { confirm: LINE_NUMBERS, revoke: LINE_NUMBERS, reason: LINE },
    },
  },
  {
    name: 'decisions',
    action: 'read-decisions',
    summary: 'Search the decision log',
    takes: {
      optional: {
        ...OF_RECORDS,
        since: SINCE,
        until: ONE,
        limit: { description: 'The last so many (100).', type: 'integer', minimum: 1, maximum: 1000 },
      },
    },
    gives: DECISIONS,
  },
  {
    name: 'follow',
    action: 'read-decisions',
    summary: 'Follow the decision log',
    takes: {
      required: { seconds: { description: 'How long.', type: 'integer', minimum: 1, maximum: 60 } },
      optional: {
        ...OF_RECORDS,
        after: { description: 'The id of the last event before: those that came since are sent first.', ...ONE },
      },
    },
    gives: EVENTS,
    streams: true,
  },
  {
    name: 'usage',
    action: 'read-decisions',
    summary: 'Get which lines requests needed',
    takes: { optional: { since: SINCE, until: ONE } },
  },
  {
    name: 'draft',
    action: 'draft',
    summary: 'Get what changed files would mean',
    takes: {
      required: {
        files: CHANGED_FILES,
      },
    },
    gives: DRAFT,
  },
  {
    name: 'replay',
    action: 'read-decisions',
    summary: 'Get which requests of the log changed files would answer otherwise',
    takes: { required: { files: CHANGED_FILES, since: SINCE } },
  },
  {
    name: 'propose',
    action: 'propose',
    summary: 'Propose changed files, which other people approve',
    takes: {
      required: { files: CHANGED_FILES, title: LINE, key: KEY },
      optional: { ticket: LINE, notBefore: TIME, expires: ONE },
    },
  },
  ...MATRICES,
  ...SAYINGS,
  {
    name: 'break-glass',
    action: 'approve',
    summary: 'Give a role at once in an emergency',
    takes: { required: { role: ONE, for: DURATION, reason: LINE, key: KEY }, optional: { to: ONE } },
  },
  {
    name: 'review-glass',
    action: 'approve',
    summary: 'Say what you found about a break-glass of somebody else',
    takes: { required: { number: NUMBER, finding: LINE, key: KEY } },
  },
  {
    name: 'publish',
    action: 'approve',
    summary: 'Make a proposal with enough approvals the next version',
    takes: { required: { number: NUMBER } },
  },
  {
    name: 'block',
    action: 'block',
    summary: 'Block a user at once',
    takes: { required: { user: USER }, optional: { until: ONE, reason: LINE, key: KEY } },
  },
  {
    name: 'unblock',
    action: 'block',
    summary: 'Let a blocked user in again',
    takes: { required: { user: USER }, optional: { key: KEY } },
  },
]

function routeOf({ name, action: asking, summary, takes, gives = ANSWER, streams }: PolicyQuestion): Route {
  const path = `${POLICY_PATH}${name}`
  if (!takes) return Object.freeze({ ...documentRoute(NAME, path), exchange: { summary, gives } })
  const schema: JsonObject = {
    title: `Policy${name.replace(/(?:^|-)(.)/g, (_, letter: string) => letter.toUpperCase())}PolicyQuestion`,
    ...closedObjectOf(takes.required ?? {}, takes.optional ?? {}),
  }
  return askingRoute(NAME, path, asking, {
    summary,
    takes: schema,
    gives,
    faults: checkerOf(schema),
    ...(streams && { streams }),
  })
}

export const POLICY_QUESTIONS: Resource = builtIn(NAME, {
  schema: ANSWER,
  fields: [],
  routes: QUESTIONS.map(routeOf),
  // An action whose route a server doesn't have yet may be granted already.
  actions: ['read', 'explain', 'draft', 'propose', 'approve', 'read-decisions', 'block', 'options'].map((name) =>
    action(name, 'whole'),
  ),
})
