/** The command that starts this program from the current folder, for commands that the user can copy and run. */

import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { shellWord } from './quote.ts'

/** In src/ of a checkout, in dist/ of the package. */
const ROOT = fileURLToPath(new URL('../..', import.meta.url))

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
    ? 'npx sallyport'
    : `node ${shellWord(join(path, 'bin', 'sallyport.js'))}`
}
