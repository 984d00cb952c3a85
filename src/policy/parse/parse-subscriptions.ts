/** subscriptions.yaml (optional) -> the addresses that are sent events. No decision asks for it. */

import { subscriptions } from '#compiled/policy-files'
import type { Reporter, SourceFile } from '../../base/diagnostic.ts'
import { oneOf } from '../../base/did-you-mean.ts'
import { Problem } from '../../base/problems/problem.ts'
import { parseYaml, shapeBy } from '../../base/yaml-file.ts'
import type { Subscription } from '../../decide/policy.ts'
import type { Resources, Route } from '../../resources/resource.ts'
import { fieldInFilter, readComparison, readQuery } from '../../resources/routing/query.ts'
import type { OnFault } from './parse-callers.ts'

interface SubscriptionForm {
  readonly url: string
  readonly key: string
  readonly resource: string
  readonly filter?: string
  readonly secret?: number
  readonly enabled?: boolean
}

const shape = shapeBy<Readonly<Record<string, SubscriptionForm>>>(subscriptions)

/** For so long an event that the receiver doesn't take is sent again. */
export const TRIED_FOR_MS = 3 * 86_400_000

/** In the order of the file. */
export function parseSubscriptions(
  source: SourceFile | undefined,
  resources: Resources,
  report: Reporter,
): readonly Subscription[] {
  const file = source && parseYaml(source, shape, report)
  if (!file) return []
  return Object.entries(file.value).flatMap(([name, form]): readonly Subscription[] => {
    const fault: OnFault = (path, ...rest) => report(file.fault([name, ...path], ...rest))
    const url = readUrl(form.url, fault)
    const stream = streamOf(form.resource, resources, fault)
    const query = form.filter === undefined ? '' : readFilter(form.filter, form.resource, resources, fault)
    if (url === undefined || stream === undefined || query === undefined) return []
    const { key, resource, secret = 1, enabled = true } = form
    return [{ name, url, key, resource, path: `${stream.path}${query}`, secret, enabled }]
  })
}

function readUrl(text: string, fault: OnFault): string | undefined {
  const refuse = (message: string, hint: string) => {
    fault(['url'], 'subscription-faulty', message, hint)
    return undefined
  }
  if (!URL.canParse(text)) return refuse('`url` is no address', 'write one like https://erp.example.com/hooks')
  const { href, username, password, hash } = new URL(text)
  if (username !== '' || password !== '') {
    return refuse('`url` has a user or a password, which this file would show', 'omit them: each request is signed')
  }
  return hash === '' ? href : refuse('`url` has a part behind #, which nobody would send', 'omit it')
}

/** The stream of events of a resource. */
export function streamRoute(resource: string, { routes }: Pick<Resources, 'routes'>): Route | undefined {
  return routes.find((route) => route.resource === resource && route.events !== undefined)
}

function streamOf(resource: string, resources: Resources, fault: OnFault): Route | undefined {
  const known = resources.byName.get(resource)
  const streams = [...resources.byName.keys()].filter((name) => streamRoute(name, resources))
  const stream = streamRoute(resource, resources)
  if (stream) return stream
  if (known && !known.builtIn) {
    const message = `\`${resource}\` has no stream of events`
    fault(['resource'], 'subscription-faulty', message, 'declare a route with `events` in its schema')
  } else {
    fault(['resource'], 'unknown-resource', `no schema declares the resource \`${resource}\``, oneOf(resource, streams))
  }
  return undefined
}

/** The query of the stream's path: the stream takes the filters of a list. Whether the key may filter is not asked. */
function readFilter(text: string, resource: string, { byName }: Resources, fault: OnFault): string | undefined {
  const fields = byName.get(resource)?.fields ?? new Map()
  const refuse = (code: string, message: string, hint: string) => {
    fault(['filter'], code, message, hint)
    return undefined
  }
  if (/[\s#?]/.test(text) || text === '') return refuse('subscription-faulty', '`filter` is no query', FILTER)
  try {
    for (const [parameter, value] of readQuery(text)) {
      const name = fieldInFilter(parameter)
      const field = fields.get(name)
      if (!field) return refuse('unknown-field', `\`${resource}\` has no field \`${name}\``, oneOf(name, fields.keys()))
      if (!field.indexed && name !== 'id') {
        const message = `no list of \`${resource}\` can filter by \`${name}\``
        return refuse(
          'subscription-faulty',
          message,
          `give the field \`"x-index": true\` in its schema, or filter by another`,
        )
      }
      readComparison(field, parameter, value)
    }
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return refuse('subscription-faulty', `\`filter\` is refused by the stream: ${sentenceIn(error)}`, FILTER)
  }
  return `?${text}`
}

const FILTER = 'write it as in the query of a list, such as status=placed&total%5Bgte%5D=100'

/** As a part of another sentence. */
function sentenceIn({ detail }: Problem): string {
  return `${detail.charAt(0).toLowerCase()}${detail.slice(1).replace(/\.$/, '')}`
}
