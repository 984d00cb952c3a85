/** GET /openapi.json: what this caller has, as an OpenAPI document. */
import { type Outcome, WrittenJson } from './outcome.ts'
import type { Asking, Services } from './services.ts'

export async function showDocument({ describe }: Services, { caller, snapshot }: Asking): Promise<Outcome> {
  return { status: 200, headers: {}, body: new WrittenJson(await describe(snapshot, caller)) }
}
