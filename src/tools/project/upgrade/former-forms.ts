/**
 * Forms in files of a project that a later version replaced: the one list, and what finds them. A version that replaces
 * a form, and still takes the former one, adds it here.
 */
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { placeAt } from '../../../base/diagnostic.ts'
import type { UpgradeFinding } from './report.ts'
import type { UpgradeSides } from './sides.ts'
import { compareVersions, parseVersion } from './version-step.ts'

interface FormerForm {
  /** The first version that has another form. */
  readonly version: string
  readonly code: string
  readonly message: string
  readonly hint: string
  /** Paths from the project's folder. */
  readonly files: RegExp
  /** Global. */
  readonly form: RegExp
}

/** Files that run commands of the program. */
const SCRIPTS = /^(?:package\.json|Dockerfile|compose\.ya?ml|\.github\/workflows\/[^/]+\.ya?ml|(?:bin|scripts)\/[^/]+)$/

const FORMER_FORMS: readonly FormerForm[] = [
  {
    version: '0.2.0',
    code: 'former-command',
    message: '`keys` is the former name of a command',
    hint: 'write `signing-keys`',
    files: SCRIPTS,
    form: /(?<=\bsallyport(?:\.js)? )keys\b/g,
  },
]

/** The folders whose files are looked at. */
const FOLDERS = ['.', '.github/workflows', 'scripts', 'bin']
const MOST_BYTES = 1_000_000

export async function findFormerForms({ project, old }: UpgradeSides): Promise<readonly UpgradeFinding[]> {
  const from = parseVersion(old.version)
  const later = FORMER_FORMS.filter(({ version }) => {
    const first = parseVersion(version)
    return from && first && compareVersions(from, first) < 0
  })
  const found = await Promise.all(later.map((form) => findForm(project.folder, form)))
  return found.flat()
}

async function findForm(
  folder: string,
  { code, message, hint, form, files }: FormerForm,
): Promise<readonly UpgradeFinding[]> {
  const names = await namesIn(folder, files)
  const found = await Promise.all(
    names.map(async (name): Promise<readonly UpgradeFinding[]> => {
      const text = await readFile(join(folder, name), 'utf8')
      return Array.from(text.matchAll(form), ({ index }) => {
        const place = placeAt(join(folder, name), text, index)
        return { ...place, code, severity: 'warning', message, hint, before: 'not-found' }
      })
    }),
  )
  return found.flat()
}

async function namesIn(folder: string, wanted: RegExp): Promise<readonly string[]> {
  const found = await Promise.all(
    FOLDERS.map(async (name) => {
      const names = await readdir(join(folder, name)).catch(() => [])
      return names.map((one) => join(name, one)).filter((one) => wanted.test(one))
    }),
  )
  const sized = await Promise.all(found.flat().map(async (name) => ({ name, file: await stat(join(folder, name)) })))
  return sized.flatMap(({ name, file }) => (file.isFile() && file.size < MOST_BYTES ? [name] : []))
}
