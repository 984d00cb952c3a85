/** A throw-away PgBouncer in transaction mode, in front of a PostgreSQL of tests. */
import { spawn } from 'node:child_process'
import { chownSync, mkdtempSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { endWithTests, removeWithTests } from './ends-with-tests.ts'
import type { PostgresServer } from './postgres.ts'
import { program } from './programs.ts'
import { freePort } from './redis.ts'

const STARTED_WITHIN_MS = 10_000

/** Returns its port. It ends with the process. Fewer connections than clients, so that transactions share them. */
export async function startPgBouncer(server: PostgresServer): Promise<number> {
  const directory = removeWithTests(mkdtempSync(join(tmpdir(), 'sallyport-pgbouncer-')))
  const port = await freePort()
  const [settings, users] = [join(directory, 'pgbouncer.ini'), join(directory, 'users.txt')]
  writeFileSync(users, '"sallyport" ""\n')
  writeFileSync(
    settings,
    `[databases]
* = host=127.0.0.1 port=${server.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
pool_mode = transaction
default_pool_size = 2
max_client_conn = 500
`,
  )
  // Like PostgreSQL, it refuses to run as root.
  const { uid, gid } = statSync(join(server.directory, 'data'))
  const isRoot = process.getuid?.() === 0
  if (isRoot) for (const path of [directory, settings, users]) chownSync(path, uid, gid)
  const child = endWithTests(spawn(program('pgbouncer'), [settings], isRoot ? { uid, gid } : {}))
  let said = ''
  child.stderr.on('data', (chunk) => (said += chunk))
  for (const until = Date.now() + STARTED_WITHIN_MS; !(await isOpen(port)); await sleep(30)) {
    if (child.exitCode !== null || Date.now() > until) throw new Error(`pgbouncer did not start: ${said}`)
  }
  return port
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true))
    socket.once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}
