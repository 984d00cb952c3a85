/** A name of the policy with what it belongs to, and all places where it stands. */
import { basename, join } from 'node:path'
import { findNodeAtLocation } from 'jsonc-parser'
import type { SourceFile } from '../../base/diagnostic.ts'
import type { FoldersInEditor } from '../edited-project.ts'
import type { ProjectNames } from './known-names.ts'
import type { NameKind, NameSlot } from './name-slot.ts'
import { treeOf } from './schema-slots.ts'
import { slotsOf } from './slots.ts'

export interface NamedThing {
  readonly kind: NameKind
  readonly name: string
  /** The resources whose relation, view, action or field it is; empty for other kinds. */
  readonly resources: readonly string[]
}

/** The same text in the same file, on every question of one moment. */
export interface PlaceOfName {
  readonly source: SourceFile
  readonly slot: NameSlot
}

/** What the slot names; undefined for a word without a meaning of its own. */
export function thingIn(slot: NameSlot, known: ProjectNames): NamedThing | undefined {
  const kind = kindOfName(slot, known)
  if (!kind || slot.words.includes(slot.name)) return undefined
  return { kind, name: slot.name, resources: BELONGING.has(kind) ? resourcesOfName(slot, kind, known) : [] }
}

const BELONGING: ReadonlySet<NameKind> = new Set<NameKind>(['relation', 'view', 'action', 'field'])

/** Conditions and relations stand in one column, and no name is of both. */
function kindOfName({ kinds, name }: NameSlot, { conditions }: ProjectNames): NameKind | undefined {
  const [first, ...others] = kinds
  return others.includes('condition') && conditions.has(name) ? 'condition' : first
}

/** A line about several resources names the relation of those that have it. */
function resourcesOfName({ about, name }: NameSlot, kind: NameKind, known: ProjectNames): readonly string[] {
  const among = about.includes('*') ? [...known.resources.byName.keys()] : about
  return among.filter((resource) => {
    const { ownership, views, resources } = known
    if (kind === 'relation') return ownership.get(resource)?.relations.has(name)
    if (kind === 'view') return views.get(resource)?.has(name)
    const declared = resources.byName.get(resource)
    return kind === 'action' ? declared?.actions.has(name) : declared?.fields.has(name)
  })
}

function isSameThing(one: NamedThing, other: NamedThing): boolean {
  if (one.kind !== other.kind || one.name !== other.name) return false
  return !BELONGING.has(one.kind) || one.resources.some((resource) => other.resources.includes(resource))
}

/** The places in these files, in their order. */
export function placesOf(
  thing: NamedThing,
  sources: readonly SourceFile[],
  folders: FoldersInEditor,
  known: ProjectNames,
): readonly PlaceOfName[] {
  return sources.flatMap((source) =>
    // Most files don't have the name at all.
    source.text.includes(thing.name)
      ? slotsOf(source, folders, known.resources).flatMap((slot) => {
          const found = slot.name === thing.name ? thingIn(slot, known) : undefined
          return found && isSameThing(found, thing) ? [{ source, slot }] : []
        })
      : [],
  )
}

/** Where a schema declares a resource, an action or a field: the file, and the offset in it. */
export function placesInSchemas(
  { kind, name, resources }: NamedThing,
  schemas: readonly SourceFile[],
  folders: FoldersInEditor,
): readonly { readonly source: SourceFile; readonly offset: number }[] {
  const wanted = kind === 'resource' ? [name] : resources
  return wanted.flatMap((resource) => {
    const source = schemas.find((one) => one.name === join(folders.schemas, `${resource}.json`))
    if (!source || basename(source.name) === '.json') return []
    const root = treeOf(source.text)
    const path = kind === 'field' ? ['properties', name] : kind === 'action' ? ['x-resource'] : []
    const node = root && findNodeAtLocation(root, path)
    return [{ source, offset: node?.offset ?? 0 }]
  })
}
