/** Starts the example: `npm run example:projects`. POLICIES, DATA_DIR and PORT may name others; the first start fills. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { fillExample, isFilled } from './fill.ts'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const port = process.env.PORT ?? '3000'
const url = `http://127.0.0.1:${port}`
const ownPolicies = here('policies')
const policies = process.env.POLICIES || ownPolicies
const env = { ...process.env, DATA_DIR: process.env.DATA_DIR || 'data/projects', PORT: port }

// Ctrl-C reaches the server too; this program ends with it.
process.once('SIGINT', () => {})

// A policy with gaps may not allow what the fill does, so the example's own policy always answers it.
let server = await serve(ownPolicies)
if (!(await isFilled(url))) await fillExample(url)
if (policies !== ownPolicies) {
  server.removeAllListeners('exit').kill()
  await once(server, 'exit')
  server = await serve(policies)
}
process.stdout.write(`The example of projects listens on ${url}, with the policy in ${relative('', policies)}.\n`)
process.stdout.write('examples/projects/README.md says what to try.\n')

/** A server that listens. This program ends with it, and never leaves it behind. */
async function serve(folder: string): Promise<ChildProcess> {
  const args = ['serve', '--demo', '--schemas', here('schemas'), '--policies', folder]
  const child = spawn(process.execPath, [here('../../bin/sallyport.js'), ...args], {
    env,
    stdio: ['inherit', 'ignore', 'pipe'],
  })
  child.once('exit', (code) => process.exit(code ?? 1))
  process.once('SIGTERM', () => child.kill())
  process.once('exit', () => child.kill())
  await new Promise<void>((resolve) => {
    child.stderr.on('data', (text) => {
      process.stderr.write(text)
      if (String(text).includes('"msg":"listening"')) resolve()
    })
  })
  return child
}
