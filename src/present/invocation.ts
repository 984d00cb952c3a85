/** The command that starts this program from the current folder, for commands that the user can copy and run. */

import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { environment } from '../base/command-process.ts'
import { AGAIN, shellWord } from '../base/problems/fix.ts'

/** In src/ of a checkout, in dist/ of the package. */
const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const NPX = 'npx sallyport'

/** Keys and tokens depend on these variables, so another command needs them too. */
const SETTINGS = ['DATA_DIR', 'JWT_ISSUER', 'JWT_AUDIENCE']

export function invocation(
  environment: Readonly<Record<string, string | undefined>>,
  folder = process.cwd(),
  root = ROOT,
): string {
  const settings = SETTINGS.flatMap((name) => (environment[name] ? [`${name}=${shellWord(environment[name])}`] : []))
  return [...settings, programHere(environment, folder, root)].join(' ')
}

/** The same without settings, for commands that need neither keys nor data. */
export function programHere(
  { npm_lifecycle_event: script }: Readonly<Record<string, string | undefined>>,
  folder = process.cwd(),
  root = ROOT,
): string {
  const path = relative(folder, root)
  // What npm runs names itself: a project may have a script of this name.
  if (path === '' || script === 'sallyport') return 'npm run -s sallyport --'
  // npx looks in the folders above, too.
  return /^(?:\.\.\/)*node_modules\/sallyport$/.test(path)
    ? NPX
    : `node ${shellWord(join(path, 'bin', 'sallyport.js'))}`
}

/** A message, in which `sallyport …` is a command to type: a project has it below node_modules/ alone. */
export function withCommands(message: string, program = programHere(environment())): string {
  return message.replace(/(?<=`|: |run |with |\| )sallyport (?=[a-z])/g, `${wordHere(program)} `)
}

/** What a command begins with where it is shown for people: a shell finds `sallyport` only if it is installed globally. */
export function wordHere(program = programHere(environment())): string {
  return program === NPX ? NPX : 'sallyport'
}

/** Settings that a flag of `serve` overrides. */
const FLAGS: ReadonlyMap<string, string> = new Map([
  ['PORT', '--port'],
  ['WORKERS', '--workers'],
  ['POLICIES', '--policies'],
  ['SCHEMAS', '--schemas'],
  ['MIGRATIONS', '--migrations'],
])

/** A command of src/base/problems/fix.ts as it can be copied. `words`: of the command line that AGAIN stands for. */
export function commandHere(
  fix: string,
  words: readonly string[],
  variables: Readonly<Record<string, string | undefined>> = environment(),
): string {
  const program = programHere(variables)
  const [, settings = ''] = /^((?:[A-Z_]+=\S+ )*)\{again\}$/.exec(fix) ?? []
  const again = [program, ...withoutOverridden(words, settings).map(shellWord)].join(' ')
  return fix.replace(/(?<=^|&& |^[A-Z_]+=\S+ )sallyport(?= )/g, program).replace(AGAIN, () => again)
}

/** A flag would win over the new value of its setting. */
function withoutOverridden(words: readonly string[], settings: string): readonly string[] {
  const flags = [...FLAGS].filter(([name]) => new RegExp(`(?:^| )${name}=`).test(settings)).map(([, flag]) => flag)
  return words.filter((word, at) => {
    return !flags.includes(words[at - 1] ?? '') && !flags.some((flag) => word === flag || word.startsWith(`${flag}=`))
  })
}
