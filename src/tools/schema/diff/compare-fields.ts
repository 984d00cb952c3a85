/** What new, removed and changed fields mean for clients, apart from the values that they take. */
import { isDeepStrictEqual } from 'node:util'
import { type Phrase, say } from '../../../present/phrase.ts'
import type { Field, Resource } from '../../../resources/resource.ts'
import type { Effect, Unplaced } from './schema-change.ts'

export function compareFields(old: Resource, next: Resource): readonly Unplaced[] {
  const names = [...new Set([...old.fields.keys(), ...next.fields.keys()])]
  return names.flatMap((name) => {
    const [before, after] = [old.fields.get(name), next.fields.get(name)]
    if (!before) return [about('field-added', 'compatible', name, say`the field ${name} is new`)]
    if (!after) return [about('field-removed', 'breaking', name, say`the field ${name} is gone`)]
    return compareField(before, after)
  })
}

function compareField(old: Field, next: Field): readonly Unplaced[] {
  const { name } = next
  const turned = (is: (field: Field) => boolean, on: readonly Told[], off: readonly Told[]) => {
    if (is(old) === is(next)) return []
    return (is(next) ? on : off).map(([code, effect, sentence]) => about(code, effect, name, sentence))
  }
  return [
    ...turned(
      ({ readOnly }) => readOnly,
      [['field-read-only', 'breaking', say`clients can no longer set ${name}`]],
      [['field-writable', 'compatible', say`clients can set ${name}`]],
    ),
    ...turned(
      ({ indexed }) => indexed,
      [['filter-added', 'compatible', say`lists can filter and sort by ${name}`]],
      [['filter-removed', 'breaking', say`lists can no longer filter and sort by ${name}`]],
    ),
    ...turned(
      ({ unique }) => unique,
      [['unique-added', 'breaking', say`a second object with the same ${name} is refused`]],
      [['unique-removed', 'compatible', say`two objects may have the same ${name}`]],
    ),
    ...(isDeepStrictEqual(old.default, next.default) ? [] : [defaultChange(old, next)]),
  ]
}

type Told = readonly [code: string, effect: Effect, sentence: Phrase]

function defaultChange(old: Field, next: Field): Unplaced {
  const [before, after] = [old, next].map((field) =>
    field.default === undefined ? say`none` : say`${JSON.stringify(field.default)}`,
  )
  return about(
    'default-changed',
    'compatible',
    next.name,
    say`the default of ${next.name}: ${before ?? ''} -> ${after ?? ''}`,
  )
}

function about(code: string, effect: Effect, name: string, sentence: Phrase): Unplaced {
  return { code, effect, path: [name], sentence }
}
