/** Parses limits.yaml: the sizes of bodies, objects and pages, and the rate limits. */
import bytes from 'bytes'
import ms, { type StringValue } from 'ms'
import { limits } from '#compiled/policy-files'
import type { Diagnostic, SourceFile } from '../../base/diagnostic.ts'
import { oneOf } from '../../base/did-you-mean.ts'
import { parseYaml, shapeBy, type YamlFile } from '../../base/yaml-file.ts'
import type { Limit, LimitMatch, Limits, Role } from '../../decide/policy.ts'
import type { Resources } from '../../resources/resource.ts'
import { oneOfActions } from './meant-action.ts'

interface LimitsFile {
  readonly body: string
  readonly object?: string
  readonly answer?: string
  readonly page: { readonly default: number; readonly max: number }
  readonly limits: Readonly<
    Record<string, { match?: LimitMatch; per: 'subject' | 'address'; allow: number; window: string }>
  >
}

const shape = shapeBy<LimitsFile>(limits)

/** The defaults for members that the file doesn't have. */
const OBJECT = '1mb'
const ANSWER = '10mb'

/** Only used together with diagnostics that make the policy invalid. */
const NOTHING: Limits = { bodyBytes: 0, objectBytes: 0, answerBytes: 0, page: { default: 1, max: 1 }, limits: [] }

export function parseLimits(
  source: SourceFile,
  { roles, resources }: { readonly roles: ReadonlyMap<string, Role>; readonly resources: Resources },
  report: (diagnostic: Diagnostic) => void,
): Limits {
  const file = parseYaml(source, shape, report)
  if (!file) return NOTHING
  const { body, object, answer = ANSWER, page, limits } = file.value
  if (page.default > page.max) {
    report(
      file.fault(
        ['page', 'default'],
        'page-size',
        'the default page size is larger than the largest page size',
        'lower `default`',
      ),
    )
  }
  const parsed = Object.entries(limits).map(([name, { match = {}, per, allow, window }]): Limit => {
    reportUnknown(name, match, { roles, resources, file }, report)
    if (per === 'subject' && (match.credentials === 'rejected' || match.role === 'anonymous')) {
      const message = `the limit \`${name}\` counts nothing per subject: its requests have no subject`
      report(file.fault(['limits', name], 'limit-subject', message, 'write `per: address`'))
    }
    return { name, match, per, allow, windowMs: ms(window as StringValue) }
  })
  const bodyBytes = sizeOf(body)
  // If the file gives no limit for objects, an object may be as large as a body.
  const objectBytes = object === undefined ? Math.max(sizeOf(OBJECT), bodyBytes) : sizeOf(object)
  return { bodyBytes, objectBytes, answerBytes: sizeOf(answer), page, limits: parsed }
}

function sizeOf(text: string): number {
  return bytes(text) ?? 0
}

function reportUnknown(
  name: string,
  { role, resource, action }: LimitMatch,
  known: { roles: ReadonlyMap<string, Role>; resources: Resources; file: YamlFile<LimitsFile> },
  report: (diagnostic: Diagnostic) => void,
): void {
  const { byName } = known.resources
  const unknown = (key: string, message: string, hint: string) =>
    report(known.file.fault(['limits', name, 'match', key], `unknown-${key}`, message, hint))
  const roles = [...known.roles.keys(), 'everyone', 'anonymous']
  if (role !== undefined && !roles.includes(role)) {
    unknown('role', `the role \`${role}\` is not declared in roles.yaml`, oneOf(role, roles))
  }
  if (resource !== undefined && !byName.has(resource)) {
    unknown('resource', `no schema declares the resource \`${resource}\``, oneOf(resource, byName.keys()))
    return
  }
  const within = resource === undefined ? [...byName.values()] : [byName.get(resource)]
  const actions = new Set(within.flatMap((candidate) => [...(candidate?.actions.keys() ?? [])]))
  if (action !== undefined && !actions.has(action)) {
    unknown('action', `the action \`${action}\` is not known here`, oneOfActions(action, actions))
  }
}
