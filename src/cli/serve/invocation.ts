/** How somebody starts this program in the present folder: for commands that are printed to be run as they are. */
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Of src/ in a checkout, of dist/ in the package. */
const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/** What the keys and tokens depend on: another command has to be told it as well. */
const SETTINGS = ['DATA_DIR', 'JWT_ISSUER', 'JWT_AUDIENCE']

export function invocation(
  environment: Readonly<Record<string, string | undefined>>,
  folder = process.cwd(),
  root = ROOT,
): string {
  const settings = SETTINGS.flatMap((name) => (environment[name] ? [`${name}=${quoted(environment[name])}`] : []))
  return [...settings, programFrom(folder, root)].join(' ')
}

function programFrom(folder: string, root: string): string {
  const path = relative(folder, root)
  if (path === '') return 'npm run -s sallyport --'
  return path === join('node_modules', 'sallyport')
    ? 'npx sallyport'
    : `node ${quoted(join(path, 'bin', 'sallyport.js'))}`
}

/** For a POSIX shell. */
function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
