/** What is new in a template, as a unified diff of the files that the two versions would make for this project. */
import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff'

/** The text of a template, and what the project has in its place. */
export interface MadeFile {
  readonly template: string
  readonly own: string | undefined
}

/** What stands in a project for `{{name}}`, `{{version}}` and the like. */
type Values = ReadonlyMap<string, string>

/** A `{{place}}` of a template. */
const PLACE = /\{\{(\w+)\}\}/

export function hasPlaces(template: string): boolean {
  return PLACE.test(template)
}

/** As far as the project's files still have the lines of the templates. Earlier files win. */
export function valuesIn(files: readonly MadeFile[]): Values {
  const found = new Map<string, string>()
  for (const { template, own } of files) {
    if (own === undefined) continue
    for (const line of template.split('\n').filter(hasPlaces)) {
      const names = line.split(PLACE).filter((_, i) => i % 2 === 1)
      const values = new RegExp(`^${patternOf(line, '([^\\n]*)')}$`, 'm').exec(own)?.slice(1) ?? []
      for (const [i, value] of values.entries()) {
        const name = names[i] ?? ''
        if (!found.has(name)) found.set(name, value)
      }
    }
  }
  return found
}

/** Whether the text is what the template makes, with any values. */
export function isMadeFrom(template: string, text: string): boolean {
  return new RegExp(`^${patternOf(template, '[^\\n]*')}$`).test(text)
}

function patternOf(template: string, value: string): string {
  const parts = template.split(/\{\{\w+\}\}/).map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return parts.join(value)
}

/**
 * For `git apply` and `patch -p1`. A place without a known value stays one, in both files. `before`: undefined if the
 * old version didn't have the template.
 */
export function renderedChange(name: string, before: string | undefined, after: string, values: Values): string {
  const filled = (text: string) => text.replaceAll(new RegExp(PLACE, 'g'), (all, key: string) => values.get(key) ?? all)
  const from = before === undefined ? '/dev/null' : `a/${name}`
  return createTwoFilesPatch(from, `b/${name}`, filled(before ?? ''), filled(after), undefined, undefined, {
    context: 3,
    headerOptions: FILE_HEADERS_ONLY,
  })
}
