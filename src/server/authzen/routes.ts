/** The handlers of `system/access`, by path: a group of routes adds its lines. */
import { FILTER_PATH } from '../../resources/built-in/access.ts'
import type { Json } from '../../resources/resource.ts'
import type { Input } from '../input/input.ts'
import type { Handler } from '../routes/handler.ts'
import { answerEvaluation, answerEvaluations, showMetadata } from './evaluate.ts'
import { answerFilter } from './filter/filter.ts'
import { answerSearch } from './search.ts'

export const ACCESS_HANDLERS: Readonly<Record<string, Handler>> = {
  '/.well-known/authzen-configuration': (services, request) => showMetadata(services, request),
  '/access/v1/evaluation': (services, request, _, input) => answerEvaluation(services, request, bodyOf(input)),
  '/access/v1/evaluations': (services, request, _, input) => answerEvaluations(services, request, bodyOf(input)),
  [FILTER_PATH]: (services, request, _, input) => answerFilter(services, request, bodyOf(input)),
  '/access/v1/search/subject': (services, request, _, input) =>
    answerSearch(services, request, 'subject', bodyOf(input)),
  '/access/v1/search/resource': (services, request, _, input) =>
    answerSearch(services, request, 'resource', bodyOf(input)),
  '/access/v1/search/action': (services, request, _, input) => answerSearch(services, request, 'action', bodyOf(input)),
}

function bodyOf(input: Input): Readonly<Record<string, Json>> {
  if (input.kind !== 'body') throw new Error(`the handler expects a body, but got ${input.kind}`)
  return input.body
}
