/** Parses masks.yaml: the fields that decision records hide. The file may be absent: then records hide nothing. */

import { masks } from '#compiled/policy-files'
import type { Diagnostic, SourceFile } from '../../base/diagnostic.ts'
import { oneOf } from '../../base/did-you-mean.ts'
import { parseYaml, shapeBy, type YamlFile } from '../../base/yaml-file.ts'
import type { Ownership } from '../../decide/policy.ts'
import { type MaskedField, type Masks, NO_MASKS, USERS } from '../../decide/policy.ts'
import { comparedAttributes } from '../../decide/relations/all-kinds.ts'
import type { Resources } from '../../resources/resource.ts'

interface MasksFile {
  readonly fields?: readonly MaskedField[]
  readonly facts?: Readonly<Record<string, readonly string[]>>
}

const shape = shapeBy<MasksFile>(masks)

/** The names that masks may use. */
interface NamesForMasks {
  readonly resources: Resources
  readonly ownership: ReadonlyMap<string, Ownership>
}

export function parseMasks(
  source: SourceFile | undefined,
  known: NamesForMasks,
  report: (diagnostic: Diagnostic) => void,
): Masks {
  const file = source && parseYaml(source, shape, report)
  if (!file) return NO_MASKS
  const { fields = [], facts = {} } = file.value
  for (const [resource, names] of Object.entries(facts)) reportUnknown({ file, resource, names, known }, report)
  return {
    fields: new Set(fields),
    facts: new Map(Object.entries(facts).map(([resource, names]) => [resource, new Set(names)])),
  }
}

interface NamesOfMask {
  readonly file: YamlFile<MasksFile>
  readonly resource: string
  readonly names: readonly string[]
  readonly known: NamesForMasks
}

/** A misspelt name would leave a field unmasked that somebody meant to mask. */
function reportUnknown({ file, resource, names, known }: NamesOfMask, report: (diagnostic: Diagnostic) => void): void {
  const fields = fieldsOf(resource, known)
  if (!fields) {
    const hint = oneOf(resource, known.resources.byName.keys())
    report(file.fault(['facts', resource], 'unknown-resource', `no schema declares the resource \`${resource}\``, hint))
    return
  }
  for (const [i, name] of names.entries()) {
    if (name === '*' || fields.has(name)) continue
    const message = `\`${resource}\` has no field \`${name}\``
    report(file.fault(['facts', resource, i], 'unknown-field', message, oneOf(name, fields)))
  }
}

/** A caller's attribute can come from a token: then it needn't be a field of users, and users needn't exist. */
function fieldsOf(resource: string, { resources, ownership }: NamesForMasks): ReadonlySet<string> | undefined {
  const declared = resources.byName.get(resource)
  const compared = resource === USERS ? [...ownership.values()].flatMap(attributesOf) : []
  return declared || compared.length > 0 ? new Set([...(declared?.fields.keys() ?? []), ...compared]) : undefined
}

function attributesOf({ relations }: Ownership): readonly string[] {
  return [...relations.values()].flatMap(comparedAttributes)
}
