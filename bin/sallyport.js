#!/usr/bin/env node
// Plain JavaScript that an old Node can still read, so that it can say that it is too old.
import { existsSync, readFileSync } from 'node:fs'
import module from 'node:module'
import { fileURLToPath } from 'node:url'

const OLDEST = 24

if (Number(process.versions.node.split('.')[0]) < OLDEST) {
  process.stderr.write(
    `sallyport: Node ${process.versions.node} is too old, Node ${OLDEST} or newer is needed: run \`npm install node@${OLDEST}\`\n`,
  )
  process.exit(2)
}

if (!existsSync(new URL('../dist/compiled', import.meta.url))) {
  process.stderr.write('sallyport: the schemas of this checkout are not compiled yet: run `npm run compile-schemas`\n')
  process.exit(1)
}

if (process.argv[2] === 'serve') {
  // A SIGHUP asks a server for a new decision log. Until it has opened one, there is nothing to do.
  process.on('SIGHUP', () => undefined)
  // Process 1 of a container notices no signal that it has no listener for, so its start could not be stopped.
  if (process.pid === 1) for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, endUnlessHeard)
}

// What was compiled is kept, so that the next start takes a third less time; where nothing can be written, nothing is kept.
const cache = fileURLToPath(new URL('../node_modules/.cache/sallyport', import.meta.url))
module.enableCompileCache?.(cache)
// A thread is told by its environment.
process.env.NODE_COMPILE_CACHE ??= cache

// A checkout runs its sources; the published package has only what was built.
const source = new URL('../src/main.ts', import.meta.url)
try {
  await import(existsSync(source) ? source.href : new URL('../dist/main.js', import.meta.url).href)
} catch (error) {
  if (error?.code !== 'ERR_MODULE_NOT_FOUND') throw error
  tellLost(error)
}

function tellLost({ url, message }) {
  const { version, private: isCheckout } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  const name = url?.startsWith('file:') ? `the file ${fileURLToPath(url)}` : /package '[^']+'/.exec(message)?.[0]
  const mend = isCheckout ? 'git checkout HEAD -- src && npm ci' : `npm install sallyport@${version} --force`
  process.stderr.write(`sallyport: this installation lacks ${name ?? 'a file'}; install it again: run \`${mend}\`\n`)
  process.exitCode = 2
}

/** The server's own listener drains it. */
function endUnlessHeard(signal) {
  if (process.listenerCount(signal) === 1) process.exit(0)
}
