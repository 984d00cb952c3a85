/** Papers in folders, with members and marks: relations that rest on objects which a delete may take along. */
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { withRules } from '../policy-text.ts'

const SHIPPED = (name: string) => readFileSync(new URL(`../../policies/${name}`, import.meta.url), 'utf8')

export const PEOPLE = ['ann', 'ben']
export const ROLES = ['r1', 'r2', 'r3', 'r4', 'r5']
/** It may see none of them. */
export const DENIED_ROLE = 'reader'

export const NAMES = ['owner', 'done', 'locked', 'member', 'marked'] as const
export type NamedTerm = (typeof NAMES)[number]

export interface DrawnRule {
  readonly terms: readonly { readonly name: NamedTerm; readonly not: boolean }[]
  readonly view: keyof typeof VIEWS
  readonly effect: 'allow' | 'deny'
}

const OPEN = ['id', 'title']
export const VIEWS = { open: OPEN, whole: [...OPEN, 'secret', 'status'] }

const terms = fc.uniqueArray(fc.record({ name: fc.constantFrom(...NAMES), not: fc.boolean() }), {
  selector: ({ name }) => name,
  maxLength: 2,
})
const view = fc.constantFrom('open', 'whole')
const ruleOf = (effect: 'allow' | 'deny') => fc.record({ terms, view, effect: fc.constant(effect) })

export const drawnRules: fc.Arbitrary<readonly DrawnRule[]> = fc
  .tuple(fc.array(ruleOf('allow'), { minLength: 1, maxLength: 3 }), fc.array(ruleOf('deny'), { maxLength: 2 }))
  .map((both) => both.flat()) as fc.Arbitrary<readonly DrawnRule[]>

export interface DrawnPaper {
  readonly folder: 'open' | 'locked' | undefined
  readonly members: readonly string[]
  readonly marks: readonly string[]
  readonly ownerId: string | undefined
  readonly status: 'done' | 'new'
  /** What is deleted after the paper. */
  readonly ends: { readonly folder: boolean; readonly marks: boolean }
}

export const drawnPaper: fc.Arbitrary<DrawnPaper> = fc.record({
  folder: fc.constantFrom(undefined, 'open', 'locked'),
  members: fc.subarray(PEOPLE),
  marks: fc.subarray(PEOPLE),
  ownerId: fc.constantFrom(undefined, ...PEOPLE),
  status: fc.constantFrom('done', 'new'),
  ends: fc.record({ folder: fc.boolean(), marks: fc.boolean() }),
})

/** Somebody is shown the first, and nobody the second, which says no more where it was. */
export const SURE_PAPERS: readonly DrawnPaper[] = (['open', 'locked'] as const).map((folder) => {
  return {
    folder,
    members: [],
    marks: [],
    ownerId: 'ann',
    status: 'new',
    ends: { folder: folder === 'locked', marks: false },
  }
})

/** What SURE_PAPERS are for. */
export const SURE_RULES: readonly DrawnRule[] = [
  { terms: [], view: 'whole', effect: 'allow' },
  { terms: [{ name: 'locked', not: false }], view: 'whole', effect: 'deny' },
]

/** `rules`: of each of ROLES. `kept`: the resources that keep a history. */
export function pastWorld(
  rules: readonly (readonly DrawnRule[])[],
  kept: readonly string[] = ['papers'],
): Readonly<Record<string, string>> {
  const fileOf = (name: string, fields: readonly string[], properties: Readonly<Record<string, unknown>> = {}) =>
    schemaOf(name, fields, kept.includes(name) ? { 'x-history': { keep: '2y' } } : {}, properties)
  const lines = rules.flatMap((own, n) =>
    own.map(({ terms: some, view: name, effect }) => {
      const relation = some.map(({ name: term, not }) => `${not ? '!' : ''}${term}`).join('+') || 'any'
      return `p, ${ROLES[n]}, papers, history, ${relation}, ${name}, ${effect}`
    }),
  )
  return {
    'schemas/papers.json': fileOf('papers', ['ownerId', 'folderId', 'status', 'title', 'secret']),
    'schemas/folders.json': fileOf('folders', ['name'], { locked: { type: 'boolean' } }),
    'schemas/memberships.json': fileOf('memberships', ['folderId', 'userId']),
    'schemas/marks.json': fileOf('marks', ['paperId', 'userId']),
    'policies/roles.yaml': `${SHIPPED('roles.yaml')}${['root', 'owners', DENIED_ROLE, ...ROLES].map((role) => `${role}: { privileged: true, description: Drawn. }\n`).join('')}`,
    'policies/ownership.yaml': `${SHIPPED('ownership.yaml')}
papers:
  relations:
    owner: ownerId
    done: { field: status, in: [done] }
    locked: { through: folderId, to: folders, relation: locked }
    member: { through: folderId, to: folders, relation: member }
    marked: { some: marks, where: paperId, relation: self }
folders:
  relations:
    locked: { field: locked, in: [true] }
    member: { some: memberships, where: folderId, relation: self }
memberships: { relations: { self: userId } }
marks: { relations: { self: userId } }
`,
    'policies/views.yaml': `${SHIPPED('views.yaml')}
papers: { open: [id, title], whole: [id, title, secret, status] }
`,
    'policies/policy.csv': withRules(
      SHIPPED('policy.csv'),
      [
        ...['papers', 'folders', 'memberships', 'marks'].map((name) => `p, root, ${name}, *, any, *, allow`),
        'p, root, system/batch, send, any, *, allow',
        `p, ${DENIED_ROLE}, papers, read, any, *, allow`,
        'p, owners, papers, history, owner, *, allow',
        ...lines,
      ].join('\n'),
    ),
  }
}

function schemaOf(
  name: string,
  fields: readonly string[],
  more: Readonly<Record<string, unknown>>,
  properties: Readonly<Record<string, unknown>>,
): string {
  const servers = { type: 'string', readOnly: true }
  return JSON.stringify({
    title: name.slice(0, -1),
    type: 'object',
    ...more,
    'x-resource': {
      routes: [
        { path: `/${name}`, methods: ['GET', 'POST'] },
        { path: `/${name}/{id}`, methods: ['GET', 'PATCH', 'DELETE'] },
      ],
    },
    properties: {
      id: servers,
      ...Object.fromEntries(fields.map((field) => [field, { type: 'string', maxLength: 50 }])),
      ...properties,
      createdAt: { ...servers, format: 'date-time' },
      updatedAt: { ...servers, format: 'date-time' },
    },
    additionalProperties: false,
  })
}
