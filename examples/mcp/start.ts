/** `npm run example:mcp`: Sallyport with the example's policy, and the tool server beside it. Ctrl-C ends both. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { AuthzenClient } from '../../packages/client/src/index.ts'
import { toolServer } from './tool-server.ts'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const port = process.env.PORT ?? '3000'
const env = {
  ...process.env,
  PORT: port,
  DATA_DIR: process.env.DATA_DIR || 'data/mcp',
  POLICIES: here('policies'),
  SCHEMAS: here('schemas'),
}
const sallyport = here('../../bin/sallyport.js')

const server = spawn(process.execPath, [sallyport, 'serve', '--demo'], { env, stdio: ['inherit', 'ignore', 'pipe'] })
server.once('exit', (code) => process.exit(code ?? 1))
process.once('SIGINT', () => {})
process.once('SIGTERM', () => server.kill())
process.once('exit', () => server.kill())
await new Promise<void>((resolve) => {
  server.stderr.on('data', (text) => {
    process.stderr.write(text)
    if (String(text).includes('"msg":"listening"')) resolve()
  })
})

// In production, give it an API key (`sallyport key add`). Such a token ends after some minutes, so it asks for new ones.
const token = () =>
  execFileSync(process.execPath, [sallyport, 'token', '--subject', 'notes-tools', '--role', 'mcp-server'], {
    env,
    encoding: 'utf8',
  }).trim()
let made = { token: token(), at: Date.now() }
const client = new AuthzenClient({
  url: `http://127.0.0.1:${port}`,
  // For a demo on a busy machine; the default is 500.
  timeoutMs: 10_000,
  token: () => {
    if (Date.now() - made.at > 300_000) made = { token: token(), at: Date.now() }
    return made.token
  },
})
const tools = toolServer(client).listen(Number(process.env.MCP_PORT ?? 3001), '127.0.0.1')
await once(tools, 'listening')
process.stdout.write(`The tool server listens on http://127.0.0.1:${process.env.MCP_PORT ?? 3001}.\n`)
