/** conditions.yaml -> the conditions that rules may ask of a request. The file may be absent: then there are none. */

import { conditions } from '#compiled/policy-files'
import type { Diagnostic, SourceFile } from '../../base/diagnostic.ts'
import { parseYaml, shapeBy } from '../../base/yaml-file.ts'
import type { Ownership } from '../../decide/policy.ts'
import { parseCondition, type RequestCondition } from '../../decide/request-conditions/all-conditions.ts'

const shape = shapeBy<Readonly<Record<string, object>>>(conditions)

/** In the order of the file. */
export function parseConditions(
  source: SourceFile | undefined,
  ownership: ReadonlyMap<string, Ownership>,
  report: (diagnostic: Diagnostic) => void,
): ReadonlyMap<string, RequestCondition> {
  const file = source && parseYaml(source, shape, report)
  const parsed = new Map<string, RequestCondition>()
  for (const [name, form] of Object.entries(file?.value ?? {})) {
    const fault = (path: readonly (string | number)[], code: string, message: string, hint?: string) => {
      if (file) report(file.fault([name, ...path], code, message, hint))
    }
    const condition = parseCondition(name, form, fault)
    if (condition) parsed.set(name, condition)
    const resource = resourceWithRelation(name, ownership)
    if (resource === undefined) continue
    fault([], 'name-twice', `\`${name}\` is a relation of \`${resource}\` too`, 'give one of them another name')
  }
  return parsed
}

/** Conditions and relations stand in one column of a rule, so a name means one or the other. */
function resourceWithRelation(name: string, ownership: ReadonlyMap<string, Ownership>): string | undefined {
  return [...ownership].find(([, { relations }]) => relations.has(name))?.[0]
}
