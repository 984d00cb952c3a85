/** What a change means for stored objects. */
import { type Phrase, say } from '../../../present/phrase.ts'
import type { FitCode } from '../../../resources/fit/codes.ts'
import type { FitReason } from '../../../resources/fit/stored-fit.ts'
import type { Unplaced } from './schema-change.ts'
import { placeText, valuesText } from './words.ts'

const CODES: Partial<Readonly<Record<FitCode, string>>> = {
  'field-removed': 'data-removed',
  'fields-closed': 'data-removed',
  'field-required': 'data-required',
  'unique-added': 'data-unique',
  'resource-removed': 'data-unreachable',
}

export function dataChange(reason: FitReason): Unplaced {
  const { code, verdict, path, value } = reason
  return {
    code: CODES[code] ?? 'data-misfit',
    effect: verdict === 'unknown' ? 'unknown' : 'breaking',
    path,
    sentence: verdict === 'unknown' ? unknownText(reason) : misfitText(reason),
    ...(value === undefined ? {} : { example: value }),
  }
}

function unknownText({ path, keyword }: FitReason): Phrase {
  return say`stored objects may have a ${placeText(path)} that no longer fits: its ${keyword} changed`
}

function misfitText(reason: FitReason): Phrase {
  const { code, path, lost, value } = reason
  const place = placeText(path)
  switch (code) {
    case 'field-removed':
    case 'fields-closed':
      return say`stored objects may have ${place}, which is no longer declared`
    case 'field-required':
      return reason.default === undefined
        ? say`stored objects may lack ${place}`
        : say`stored objects may lack ${place} until a write sets its default`
    case 'unique-added':
      return say`stored objects may share the same ${place}`
    case 'resource-removed':
      return say`no request reaches the stored objects, which stay in the database`
    default: {
      const values = lost ?? (value === undefined ? [] : [value])
      return values.length === 0
        ? say`stored objects may have a ${place} that no longer fits`
        : say`stored objects may have ${valuesText(values)} as ${place}, which no longer fits`
    }
  }
}
