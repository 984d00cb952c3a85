/**
 * `system/policy`: what can be known of the policy in force (docs/policy-api.md). Each question is answered as a command
 * answers it; the bodies name the command's options.
 */
import type { Resource, Route } from '../resource.ts'
import type { JsonObject } from '../schema/schema-file.ts'
import { checkerOf } from '../validate/find-faults.ts'
import { action, askingRoute, builtIn, closedObjectOf, documentRoute } from './make.ts'
import {
  ANSWER,
  BROUGHT,
  CHANGED_FILES,
  DECISIONS,
  DRAFT,
  DURATION,
  EVENTS,
  FILE,
  FILES,
  FILES_OR_NONE,
  LINE,
  LINE_NUMBERS,
  MATRIX_RUN,
  METHOD,
  type MemberSchemas,
  NEW_MATRICES,
  NUMBER,
  OF_RECORDS,
  ONE,
  RECORDS_SINCE,
  SIGNING_KEY,
  SOME,
  TIME,
  USER,
  VERSION,
  VERSION_FILES,
} from './policy-schemas.ts'

const NAME = 'system/policy'

/** The paths of its routes begin with it. */
export const POLICY_PATH = '/policy/v1/'

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
    takes: { required: { files: FILES_OR_NONE }, optional: { ...BROUGHT, roles: SOME, resources: SOME } },
    gives: MATRIX_RUN,
  },
  {
    name: 'matrix-coverage',
    action: 'draft',
    summary: 'Get what the matrices state nothing about',
    takes: { required: { files: FILES_OR_NONE }, optional: BROUGHT },
  },
  {
    name: 'matrix-mutate',
    action: 'draft',
    summary: 'Get the mistakes in a policy that the matrices do not notice',
    takes: { required: { files: FILES_OR_NONE }, optional: { ...BROUGHT, resources: SOME, mistakes: SOME } },
  },
  {
    name: 'matrix-init',
    action: 'draft',
    summary: 'Get matrices that state what the policy answers',
    takes: {
      required: { files: FILES_OR_NONE },
      optional: { ...BROUGHT, missing: { type: 'boolean' }, roles: SOME },
    },
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
  takes: { required: { number: NUMBER, key: SIGNING_KEY }, optional: { reason: LINE } },
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
        key: { ...SIGNING_KEY, maxLength: 2_000_000 },
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
        since: RECORDS_SINCE,
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
    takes: { optional: { since: RECORDS_SINCE, until: ONE } },
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
    name: 'names',
    action: 'draft',
    summary: 'List the names that may stand at a place of a file',
    takes: { required: { files: FILES_OR_NONE, file: FILE, line: NUMBER, column: NUMBER } },
  },
  {
    name: 'replay',
    action: 'read-decisions',
    summary: 'Get which requests of the log changed files would answer otherwise',
    takes: { required: { files: CHANGED_FILES, since: RECORDS_SINCE } },
  },
  {
    name: 'propose',
    action: 'propose',
    summary: 'Propose changed files, which other people approve',
    takes: {
      required: { files: CHANGED_FILES, title: LINE, key: SIGNING_KEY },
      optional: { ticket: LINE, notBefore: TIME, expires: ONE },
    },
  },
  ...MATRICES,
  ...SAYINGS,
  {
    name: 'break-glass',
    action: 'approve',
    summary: 'Give a role at once in an emergency',
    takes: { required: { role: ONE, for: DURATION, reason: LINE, key: SIGNING_KEY }, optional: { to: ONE } },
  },
  {
    name: 'review-glass',
    action: 'approve',
    summary: 'Say what you found about a break-glass of somebody else',
    takes: { required: { number: NUMBER, finding: LINE, key: SIGNING_KEY } },
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
    takes: { required: { user: USER }, optional: { until: ONE, reason: LINE, key: SIGNING_KEY } },
  },
  {
    name: 'unblock',
    action: 'block',
    summary: 'Let a blocked user in again',
    takes: { required: { user: USER }, optional: { key: SIGNING_KEY } },
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
