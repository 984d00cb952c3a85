/** A typed client: paths, parameters, bodies and answers are those of the server's OpenAPI document. */
import createClient, { type Client } from 'openapi-fetch'
import type { components, paths } from '../generated/api.d.ts'
import { fetchWithRetries } from './retry.ts'

export type Api = Client<paths>
export type Problem = components['schemas']['Problem']

export function connect(baseUrl: string, token: string): Api {
  return createClient<paths>({
    baseUrl,
    headers: { Authorization: `Bearer ${token}` },
    // `sort=-createdAt,status`, not `sort=-createdAt&sort=status`: each parameter stands once.
    querySerializer: { array: { style: 'form', explode: false } },
    fetch: fetchWithRetries,
  })
}

/** A refusal of the server. `problem.code` is stable, so programs can branch on it. */
export class Refused extends Error {
  readonly problem: Problem

  constructor(problem: Problem) {
    super(`${problem.code}: ${problem.detail}`)
    this.problem = problem
  }
}
