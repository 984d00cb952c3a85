/**
 * What tells the answers of a command apart. It sets some fields, and to some of them constants, so no request asks its
 * grants for other fields or for other results. Of all else, only rules about other actions decide.
 */
import { commandByAction } from '../decide/callers-and-routes.ts'
import { comparedFields, valuesWhoeverAsks } from '../decide/relations/all-kinds.ts'
import { acceptsField, type Relation } from '../decide/relations/relation-kind.ts'
import type { Command } from '../resources/resource.ts'
import { type ComparedSpace, sidesOf, type Topic } from './compared-space.ts'
import { EVERYWHERE, type Region } from './regions.ts'
import { type Moments, variablesOf } from './space.ts'

type Granted = readonly Region[]

/** For each class of fields, the part of where it is granted that an answer can depend on. */
interface CountedGrants {
  readonly onObjects: (granted: Granted) => Granted
  /** Before the object is known. */
  readonly atRoleLevel: (granted: Granted) => Granted
}

/** Everything, but for commands. */
export function countedGrants(topic: Topic): CountedGrants {
  const command = commandByAction(topic.resource, topic.action.name)
  if (!command) return { onObjects: (granted) => granted, atRoleLevel: (granted) => granted }
  const { space, byName } = topic
  const possible = resultsOf(command, topic)
  const states = new Set(byName.atoms.flatMap((atom, i) => (isState(atom) ? Object.values(variablesOf(i)) : [])))
  const isStateOfObject = (variable: number) => states.has(variable)
  return {
    onObjects: (granted) => ofFields(command, topic, granted).map((region) => space.regions.both(region, possible)),
    atRoleLevel: (granted) =>
      ofFields(command, { ...topic, space: byName }, granted).map((region) =>
        byName.regions.whatever(byName.regions.both(region, byName.rules.first), isStateOfObject),
      ),
  }
}

/** The role level doesn't know in which state an object is. */
function isState({ leaf, needsCaller }: ComparedSpace['atoms'][number]): boolean {
  return leaf !== undefined && !needsCaller.before && !needsCaller.after
}

/** A field that the command doesn't set counts only as one of all: some field must be granted. */
function ofFields(command: Command, { classes, space: { regions } }: Topic, granted: Granted): Granted {
  const some = regions.any(granted)
  return granted.map((region, i) => (classes[i]?.some((field) => Object.hasOwn(command.set, field)) ? region : some))
}

/** Where the second decision is asked, the results that the command can leave, as either policy understands them. */
function resultsOf(command: Command, topic: Topic): Region {
  const { regions, rules, atoms } = topic.space
  const { before, after } = sidesOf((side) =>
    regions.all(
      atoms.map(({ leaf }, i) =>
        leaf ? leafAfter(command, topic, leaf[side], rules.moments(i, leaf[side])) : EVERYWHERE,
      ),
    ),
  )
  return regions.either(rules.first, regions.either(before, after))
}

/** What the command doesn't set stays as it is, unless a default fills it, and constants are known. */
function leafAfter(
  { set }: Command,
  { resource: { fields }, space: { regions } }: Topic,
  leaf: Relation,
  { stored, proposed }: Moments,
): Region {
  const isKept = (name: string) =>
    !Object.hasOwn(set, name) && name !== 'updatedAt' && fields.get(name)?.default === undefined
  if (comparedFields(leaf).every(isKept)) return regions.same(stored, proposed)
  const accepted = valuesWhoeverAsks(leaf)
  const step = accepted && set[accepted.field]
  if (!accepted || !step || !('value' in step)) return EVERYWHERE
  return acceptsField(accepted, step.value) ? proposed : regions.not(proposed)
}
