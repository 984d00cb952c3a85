// A process for killed.test.ts: writes records to a log, and keeps its tree, until it is killed.
import { LogFile } from '../../../src/decision-log/log-file.ts'
import { startLogTree } from '../../../src/decision-log/tree/log-tree.ts'

const [file = ''] = process.argv.slice(2)
const log = new LogFile({ file, maxBytes: 100_000, keep: 1000 })
const kept = new Map<string, string>()
startLogTree({
  file,
  keep: 1000,
  instance: '3000',
  // Each day has a new key; here a day is over at each look.
  now: () => new Date(Date.now() + 86_400_000 * (performance.now() / 5)),
  database: {
    checkpointOf: async (name) => kept.get(name),
    keepCheckpoint: async (name, note) => void kept.set(name, note),
  },
  report: (event) => process.stdout.write(`${event.kind} ${event.kind === 'failing' ? event.error : ''}\n`),
  everyMs: 2,
})
let n = 0
setInterval(() => {
  const lines = Array.from({ length: 37 }, () => `{"record":"decision","n":"${process.pid}-${n++}"}\n`).join('')
  log.append(lines)
}, 1)
