/** masks.yaml -> what decision records don't hold. The file may be absent: then they hold everything. */
import { type MaskedField, type Masks, NO_MASKS } from '../decision-log/mask.ts'
import type { Diagnostic } from '../problems/diagnostic.ts'
import type { Resources } from '../resources/resource.ts'
import type { SourceFile } from './policy-files.ts'
import masksSchema from './schemas/masks.schema.json' with { type: 'json' }
import { parseYaml, shapeOf, type YamlFile } from './yaml-file.ts'

interface MasksFile {
  readonly fields?: readonly MaskedField[]
  readonly facts?: Readonly<Record<string, readonly string[]>>
}

const shape = shapeOf<MasksFile>(masksSchema)

export function parseMasks(
  source: SourceFile | undefined,
  resources: Resources,
  report: (diagnostic: Diagnostic) => void,
): Masks {
  const file = source && parseYaml(source, shape, report)
  if (!file) return NO_MASKS
  const { fields = [], facts = {} } = file.value
  for (const [resource, names] of Object.entries(facts)) reportUnknown({ file, resource, names, resources }, report)
  return {
    fields: new Set(fields),
    facts: new Map(Object.entries(facts).map(([resource, names]) => [resource, new Set(names)])),
  }
}

interface Named {
  readonly file: YamlFile<MasksFile>
  readonly resource: string
  readonly names: readonly string[]
  readonly resources: Resources
}

/** A name that nothing has would leave unmasked what somebody meant to mask. */
function reportUnknown({ file, resource, names, resources }: Named, report: (diagnostic: Diagnostic) => void): void {
  const declared = resources.byName.get(resource)
  if (!declared) {
    report(file.fault(['facts', resource], 'unknown-resource', `no schema declares the resource \`${resource}\``))
    return
  }
  for (const [i, name] of names.entries()) {
    if (name === '*' || declared.fields.has(name)) continue
    report(file.fault(['facts', resource, i], 'unknown-field', `\`${resource}\` has no field \`${name}\``))
  }
}
