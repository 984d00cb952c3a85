/** Files that `init` made from templates: which templates differ between the versions, and what became of the files. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { filesBelow, hasPlaces, isMadeFrom, renderedChange, valuesIn } from '../package-files.ts'
import type { TemplateChange, Undecided } from './report.ts'
import type { UpgradeSides } from './sides.ts'

const TEMPLATES = 'templates/project'

interface ComparedTemplates {
  readonly templates: readonly TemplateChange[]
  readonly undecided: readonly Undecided[]
}

export async function compareTemplates({ old, new: young, project }: UpgradeSides): Promise<ComparedTemplates> {
  const [before, after] = await Promise.all(
    [old, young].map(({ root }) => filesBelow(join(root, TEMPLATES)).catch(none)),
  )
  if (!after) return { templates: [], undecided: [{ part: 'templates', reason: 'the new package has no templates' }] }
  if (!before) return { templates: [], undecided: [] }
  const oldTexts = new Map(before.map(({ name, text }) => [name, text]))
  const changed = after.filter(({ name, text }) => oldTexts.get(name) !== text)
  const ownText = (name: string) => readFile(join(project.folder, name), 'utf8').catch(() => undefined)
  const made = before.map(async ({ name, text }) => ({ template: text, own: await ownText(name), name }))
  // Its lines have the most places.
  const values = valuesIn((await Promise.all(made)).toSorted((a, b) => Number(isManifest(b)) - Number(isManifest(a))))
  const templates = await Promise.all(
    changed.map(async ({ name, path, text }): Promise<readonly TemplateChange[]> => {
      const earlier = oldTexts.get(name)
      const advice = adviceOn({ own: await ownText(name), earlier, text })
      const patch = renderedChange(name, earlier, text, values)
      return advice ? [{ file: join(project.folder, name), advice, template: path, patch }] : []
    }),
  )
  return { templates: templates.flat(), undecided: [] }
}

/** A version before there were templates has made no file of a project. */
function none(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT') return undefined
  throw error
}

interface TemplateTexts {
  /** Undefined if the project doesn't have the file. */
  readonly own: string | undefined
  /** Undefined if the old version doesn't have the template. */
  readonly earlier: string | undefined
  readonly text: string
}

/** Undefined where there is nothing to do: the file was removed on purpose, or is as the new template makes it. */
function adviceOn({ own, earlier, text }: TemplateTexts): TemplateChange['advice'] | undefined {
  if (own === undefined) return earlier === undefined ? 'add' : undefined
  // A file that no template made is the project's own.
  if (earlier === undefined || isMadeFrom(text, own)) return undefined
  // A copy of a template with `{{name}}` would lose the project's own values.
  return own === earlier && !hasPlaces(text) ? 'replace' : 'compare'
}

function isManifest({ name }: { readonly name: string }): boolean {
  return name === 'package.json'
}
