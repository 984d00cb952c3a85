/** What the build made of packages/console, read once: a request never leads to a look-up in the file system. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { brotliDecompressSync, gzipSync } from 'node:zlib'
import { ConfigError } from '../../config/values.ts'

/** In a checkout and in the package, `dist/` is as far from this file. */
const PLACE = new URL('../../../dist/console/', import.meta.url)

export interface ConsoleFile {
  readonly contentType: string
  /** Its name has a hash of its bytes, so a browser may keep it. */
  readonly isKept: boolean
  readonly bytes: Buffer
  readonly gzipped: Buffer
}

/** By path. */
export type ConsoleFiles = ReadonlyMap<string, ConsoleFile>

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
}

export function isConsoleBuilt(place = PLACE): boolean {
  return existsSync(new URL('index.html.br', place))
}

/** Throws ConfigError where the console isn't built. */
export function readConsoleFiles(place = PLACE): ConsoleFiles {
  if (!isConsoleBuilt(place)) {
    throw new ConfigError(
      'CONSOLE_PORT is set, and the console of this checkout is not built; build it, or unset CONSOLE_PORT',
      'npm run -s build:console',
    )
  }
  const pages: readonly string[] = JSON.parse(readFileSync(new URL('pages.json', place), 'utf8'))
  const index = readFile('index.html', place, false)
  const assets = readdirSync(new URL('assets/', place)).map((name) => name.replace(/\.br$/, ''))
  return new Map([
    ...pages.map((path) => [path, index] as const),
    ...assets.map((name) => [`/assets/${name}`, readFile(`assets/${name}`, place, true)] as const),
  ])
}

function readFile(name: string, place: URL, isKept: boolean): ConsoleFile {
  const bytes = brotliDecompressSync(readFileSync(new URL(`${name}.br`, place)))
  return { contentType: TYPES[extname(name)] ?? 'application/octet-stream', isKept, bytes, gzipped: gzipSync(bytes) }
}
