/** A resource of tests: what a new schema file and some policy lines give, for promises that no shipped resource shows. */
import { startTestServer, type TestServer, type TestServerOptions } from '../server.ts'

interface Route {
  readonly path: string
  readonly methods: readonly string[]
  readonly moved?: string
  readonly found?: string
  readonly deprecated?: string
  readonly sunset?: string
  readonly successor?: string
  readonly precondition?: 'required'
}

const ROUTES: readonly Route[] = [
  { path: '/things', methods: ['GET', 'POST'] },
  { path: '/things/{id}', methods: ['GET', 'PUT', 'PATCH', 'DELETE'] },
]

const TIME = { type: 'string', format: 'date-time', readOnly: true }

/** Fields: `doc` (anything), `size` (an integer), `title` (text). */
function schemaOf(routes: readonly Route[]): string {
  return JSON.stringify({
    type: 'object',
    'x-resource': { routes },
    properties: {
      id: { type: 'string', format: 'uuid', readOnly: true },
      createdAt: TIME,
      updatedAt: TIME,
      doc: {},
      size: { type: 'integer' },
      title: { type: 'string' },
    },
    additionalProperties: false,
  })
}

/** The server knows `things` besides the shipped resources; admins do everything with it, members nothing. */
export function startWithThings(more: readonly Route[] = [], options: TestServerOptions = {}): Promise<TestServer> {
  const policy = ['p, everyone, *, options, any, *, allow', 'p, admin, things, *, any, *, allow', '']
  const files = {
    'schemas/things.json': schemaOf([...ROUTES, ...more]),
    'policies/policy.csv': policy.join('\n'),
    ...options.files,
  }
  return startTestServer({ ...options, files })
}
