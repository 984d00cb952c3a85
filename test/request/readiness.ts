/** What /readyz tells an admin: `status`, and the state of each part. */
import type { Answer, TestServer } from '../server.ts'

export async function readinessOf(server: TestServer): Promise<Answer> {
  return server.ask('GET', '/readyz', { token: await server.token('ada', 'admin') })
}
