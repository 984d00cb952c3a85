/** Papers with a history. Members read all of them, and see the past of their own. */
import { readFileSync } from 'node:fs'
import { withRules } from '../policy-text.ts'

const SHIPPED = (name: string) => readFileSync(new URL(`../../policies/${name}`, import.meta.url), 'utf8')

const TEXT = { type: 'string', maxLength: 50 }
const SERVERS = { type: 'string', readOnly: true }

export const REMEMBERING: Readonly<Record<string, string>> = {
  'schemas/papers.json': JSON.stringify({
    title: 'Paper',
    type: 'object',
    'x-history': { keep: '2y' },
    'x-resource': {
      routes: [
        { path: '/papers', methods: ['GET', 'POST'] },
        { path: '/papers/{id}', methods: ['GET', 'PATCH', 'DELETE'] },
      ],
    },
    properties: {
      id: SERVERS,
      ownerId: TEXT,
      title: TEXT,
      secret: TEXT,
      createdAt: { ...SERVERS, format: 'date-time' },
      updatedAt: { ...SERVERS, format: 'date-time' },
    },
    additionalProperties: false,
  }),
  'policies/ownership.yaml': `${SHIPPED('ownership.yaml')}
papers: { relations: { owner: ownerId } }
`,
  'policies/views.yaml': `${SHIPPED('views.yaml')}
papers: { open: [id, title] }
`,
  'policies/policy.csv': withRules(
    SHIPPED('policy.csv'),
    [
      'p, member, papers, read|list, any, *, allow',
      'p, member, papers, update|history, owner, *, allow',
      'p, support, papers, read|history, any, open, allow',
      'p, auditor, papers, read|history, any, *, allow',
      'p, admin, papers, list|read|create|update|delete|history, any, *, allow',
    ].join('\n'),
  ),
}
