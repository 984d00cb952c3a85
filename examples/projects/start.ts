/** Starts the example: `npm run example:projects`. The data is in data/projects; the first start fills it. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { fillExample } from './fill.ts'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const dataFolder = 'data/projects'
const isNew = !existsSync(dataFolder)
const port = process.env.PORT ?? '3000'
const url = `http://127.0.0.1:${port}`

const server = spawn(
  process.execPath,
  [here('../../bin/sallyport.js'), 'serve', '--demo', '--schemas', here('schemas'), '--policies', here('policies')],
  { env: { ...process.env, DATA_DIR: dataFolder, PORT: port }, stdio: ['inherit', 'ignore', 'inherit'] },
)
server.once('exit', (code) => process.exit(code ?? 1))

const isReady = () =>
  fetch(`${url}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  )
while (!(await isReady())) await sleep(100)
if (isNew) await fillExample(url)
process.stdout.write(`The example of projects listens on ${url}; examples/projects/README.md says what to try.\n`)
