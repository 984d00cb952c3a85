/** ownership.yaml -> the relations of each resource. A relation may rest on others, so each is parsed when it is needed. */
import { ownership } from '#compiled/policy-files'
import type { Reporter, SourceFile } from '../../base/diagnostic.ts'
import { oneOf } from '../../base/did-you-mean.ts'
import { parseYaml, shapeBy, type YamlFile } from '../../base/yaml-file.ts'
import type { Ownership } from '../../decide/policy.ts'
import { kindOf, parseRelation } from '../../decide/relations/all-kinds.ts'
import type { Declaration, Relation } from '../../decide/relations/relation-kind.ts'
import type { Resource, Resources } from '../../resources/resource.ts'
import { declared } from './parse-vocabulary.ts'

type OwnershipFile = Readonly<
  Record<string, { readonly conceal?: boolean; readonly relations: Readonly<Record<string, unknown>> }>
>

const ownershipShape = shapeBy<OwnershipFile>(ownership)

export function parseOwnership(
  source: SourceFile,
  resources: Resources,
  report: Reporter,
): ReadonlyMap<string, Ownership> {
  const file = parseYaml(source, ownershipShape, report)
  const parsed = new Map<string, Ownership>()
  if (!file) return parsed
  const parser = new RelationParser(file, resources, report)
  for (const [name, { relations, conceal = false }] of Object.entries(file.value)) {
    const resource = declared(name, resources, file, report)
    if (!resource) continue
    const found = Object.keys(relations).flatMap((relation) => parser.relation(resource, relation) ?? [])
    parsed.set(name, { conceal, relations: new Map(found.map((relation) => [relation.name, relation])) })
    reportFilledTwice(found, resource, (relation, ...rest) =>
      report(file.fault([name, 'relations', relation], ...rest)),
    )
  }
  return parsed
}

/** A relation that is being parsed has no result yet: it rests on itself if it is asked for then. */
const UNDERWAY = Symbol('underway')

class RelationParser {
  readonly #file: YamlFile<OwnershipFile>
  readonly #resources: Resources
  readonly #report: Reporter
  readonly #known = new Map<string, Relation | undefined | typeof UNDERWAY>()

  constructor(file: YamlFile<OwnershipFile>, resources: Resources, report: Reporter) {
    this.#file = file
    this.#resources = resources
    this.#report = report
  }

  /** Undefined if there was a fault. */
  relation(resource: Resource, name: string): Relation | undefined {
    const key = JSON.stringify([resource.name, name])
    const known = this.#known.get(key)
    if (known !== UNDERWAY && this.#known.has(key)) return known
    this.#known.set(key, UNDERWAY)
    const made = this.#parse(resource, name)
    this.#known.set(key, made)
    return made
  }

  #parse(resource: Resource, name: string): Relation | undefined {
    const at = [resource.name, 'relations', name]
    const fault: Declaration['fault'] = (path, ...rest) => this.#report(this.#file.fault([...at, ...path], ...rest))
    const relationOf: Declaration['relationOf'] = (other, wanted, path) => {
      const declaredThere = this.#file.value[other]?.relations ?? {}
      const target = this.#resources.byName.get(other)
      if (!target || !Object.hasOwn(declaredThere, wanted)) {
        const hint = oneOf(wanted, Object.keys(declaredThere))
        fault(path, 'unknown-relation', `\`${other}\` has no relation \`${wanted}\``, hint)
        return undefined
      }
      if (this.#known.get(JSON.stringify([other, wanted])) === UNDERWAY) {
        const message = `the relation \`${name}\` rests on itself, through \`${wanted}\` of \`${other}\``
        fault(path, 'relation-circle', message, "name a relation that doesn't lead back here")
        return undefined
      }
      return this.relation(target, wanted)
    }
    const form = this.#file.value[resource.name]?.relations[name]
    return parseRelation(name, form, { resource, resources: this.#resources, relationOf, fault })
  }
}

type FaultOfRelation = (relation: string, code: string, message: string, hint: string) => void

/** A new object gets one value for a field: two relations that fill it would have to agree. */
function reportFilledTwice(relations: readonly Relation[], resource: Resource, fault: FaultOfRelation): void {
  const filling = new Map<string, string>()
  for (const relation of relations) {
    const { field, fill } = kindOf(relation).equates?.(relation) ?? {}
    if (field === undefined || !fill) continue
    const first = filling.get(field)
    filling.set(field, first ?? relation.name)
    if (first === undefined) continue
    const message = `\`${first}\` and \`${relation.name}\` both fill the field \`${field}\` of \`${resource.name}\``
    fault(relation.name, 'fill-twice', message, 'keep `fill: true` at one of them; the relation `owner` always fills')
  }
}
