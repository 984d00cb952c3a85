/** `system/access`: other services ask this policy here (AuthZEN Authorization API 1.0). Each group of routes is a line. */
import type { Resource } from '../resource.ts'
import { faultsOfEvaluation, faultsOfEvaluations, faultsOfFilter } from './access-faults.ts'
import {
  DECISION_SCHEMA,
  DECISIONS_SCHEMA,
  EVALUATION_SCHEMA,
  EVALUATIONS_SCHEMA,
  METADATA_SCHEMA,
} from './access-schemas.ts'
import { FILTER_REQUEST_SCHEMA, FILTER_SCHEMA } from './filter-schemas.ts'
import { gatewayRoutes } from './gateways.ts'
import { action, askingRoute, builtIn, documentRoute } from './make.ts'
import { SEARCHES } from './search-schemas.ts'

const NAME = 'system/access'

export const METADATA_PATH = '/.well-known/authzen-configuration'

/** Gives conditions for tables of other services. */
export const FILTER_PATH = '/access/v1/filter'

/** Whether answers for a path, or for a target that begins with it, have the X-Request-ID of their request. */
export function echoesRequestId(target: string): boolean {
  return target.startsWith('/access/v1/') || target.startsWith(METADATA_PATH)
}

export const ACCESS: Resource = builtIn(NAME, {
  schema: METADATA_SCHEMA,
  fields: [],
  routes: [
    documentRoute(NAME, METADATA_PATH),
    askingRoute(NAME, '/access/v1/evaluation', 'evaluate', {
      summary: 'Ask for a decision',
      takes: EVALUATION_SCHEMA,
      faults: faultsOfEvaluation,
      gives: DECISION_SCHEMA,
    }),
    askingRoute(NAME, '/access/v1/evaluations', 'evaluate', {
      summary: 'Ask for several decisions',
      takes: EVALUATIONS_SCHEMA,
      faults: faultsOfEvaluations,
      gives: DECISIONS_SCHEMA,
    }),
    ...gatewayRoutes(NAME, 'forward'),
    askingRoute(NAME, FILTER_PATH, 'filter', {
      summary: 'Ask for a filter of your own tables',
      takes: FILTER_REQUEST_SCHEMA,
      faults: faultsOfFilter,
      gives: FILTER_SCHEMA,
    }),
    ...SEARCHES.map(({ path, ...exchange }) => askingRoute(NAME, path, 'search', exchange)),
  ],
  // An action whose route a server doesn't have yet may be granted already.
  actions: ['read', 'evaluate', 'search', 'filter', 'forward', 'options'].map((name) => action(name, 'whole')),
})
