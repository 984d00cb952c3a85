/** GET /.well-known/authzen-configuration: where each part of the Authorization API answers. */
import { METADATA_PATH } from '../../../resources/built-in/access.ts'
import type { HandledRequest, Outcome, Services } from '../../routes/handler.ts'

const ENDPOINTS: Readonly<Record<string, string>> = {
  '/access/v1/evaluation': 'access_evaluation_endpoint',
  '/access/v1/evaluations': 'access_evaluations_endpoint',
  '/access/v1/search/subject': 'search_subject_endpoint',
  '/access/v1/search/resource': 'search_resource_endpoint',
  '/access/v1/search/action': 'search_action_endpoint',
}

/** The base is configured: a header Host may be anything. */
export function showMetadata({ access }: Services, { resource }: HandledRequest): Outcome {
  const base = access.publicUrl()
  const endpoints = resource.routes.flatMap(({ path }) => {
    const name = ENDPOINTS[path]
    return name === undefined || path === METADATA_PATH ? [] : [[name, base + path] as const]
  })
  return { status: 200, headers: {}, body: { policy_decision_point: base, ...Object.fromEntries(endpoints) } }
}
