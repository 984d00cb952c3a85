// A server for killed.test.ts and full-disk.test.ts: writes as anybody who sends the token `t`, on the data folder given,
// until it is killed.
import { flushCompileCache } from 'node:module'
import { pino } from 'pino'
import { readConfig } from '../../src/config/config.ts'
import { LogFile } from '../../src/decision-log/log-file.ts'
import { startApp } from '../../src/server/app.ts'
import { StatementRunner } from '../../src/store/sqlite/statements.ts'

const [folder = '', fault] = process.argv.slice(2)

/** How it would be without the guards: the test must find that out. */
const FAULTS: Readonly<Record<string, () => void>> = {
  'record after the commit': () => {
    const { ask } = StatementRunner.prototype
    StatementRunner.prototype.ask = function (statement) {
      if (!statement.text.startsWith('insert into outbox')) return ask.call(this, statement)
      setTimeout(() => ask.call(this, statement), 5)
      return []
    }
  },
  'no look at what the log holds': () => {
    LogFile.prototype.holds = async () => new Set()
  },
}
if (fault !== undefined) FAULTS[fault]?.()

const { DECISION_LOG_FILE } = process.env
const paths = { DATA_DIR: folder, POLICIES: `${folder}/policies`, DECISION_LOG_FILE }
const config = readConfig({ PORT: '0', ADMIN_PORT: '0', ...paths })
const caller = { id: 'writer', roles: ['admin'], claims: {} }
const app = await startApp({
  config,
  verifier: { verify: async () => ({ kind: 'caller', caller }) },
  log: pino({ level: 'silent' }),
})
// Who is killed leaves nothing for the next start.
flushCompileCache()
process.stdout.write(`${app.url}\n`)
