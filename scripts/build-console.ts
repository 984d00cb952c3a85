/**
 * Writes dist/console/: the console of packages/console as the files that a server reads once at its start, compressed
 * by Brotli, which takes a tenth less of the package than gzip. Runs with `npm ci` and before the tests; the package
 * ships the result.
 */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync } from 'node:zlib'
import { PAGES, SIGNED_IN } from '../packages/console/src/pages.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const TARGET = new URL('../dist/console/', import.meta.url)

/** By name in dist/console/. */
type BuiltFiles = ReadonlyMap<string, Uint8Array>

export async function consoleFiles(): Promise<BuiltFiles> {
  const { build } = await import('esbuild')
  const { outputFiles, metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: { main: 'packages/console/src/main.tsx', style: 'packages/console/src/console.css' },
    outdir: 'dist/console/assets',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'eof',
    metafile: true,
    write: false,
  })
  const entry = (source: string) => {
    const outputs = Object.entries(metafile.outputs)
    return basename(outputs.find(([, { entryPoint }]) => entryPoint === `packages/console/src/${source}`)?.[0] ?? '')
  }
  const text = (content: string) => new TextEncoder().encode(content)
  const assets = outputFiles.map(({ path, contents }) => [`assets/${basename(path)}`, contents] as const)
  const index = indexHtml(entry('main.tsx'), entry('console.css'))
  const plain = [...assets, ['index.html', text(index)] as const]
  const paths = [...PAGES.map(({ path }) => path), SIGNED_IN]
  return new Map([
    ...plain.map(([name, bytes]) => [`${name}.br`, brotliCompressSync(bytes)] as const),
    ['pages.json', text(`${JSON.stringify(paths)}\n`)],
  ])
}

function indexHtml(script: string, style: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>Sallyport</title>
<link rel="stylesheet" href="/assets/${style}">
<script type="module" src="/assets/${script}"></script>
</head>
<body>
<div id="console"></div>
<noscript>The console needs JavaScript. The commands show the same: sallyport --help</noscript>
</body>
</html>
`
}

if (import.meta.main) {
  // A package that is installed without its tools has the console already, or none.
  if (existsSync(new URL('../node_modules/esbuild', import.meta.url))) {
    const files = await consoleFiles()
    rmSync(TARGET, { recursive: true, force: true })
    mkdirSync(new URL('assets/', TARGET), { recursive: true })
    for (const [name, bytes] of files) writeFileSync(new URL(name, TARGET), bytes)
  }
}
