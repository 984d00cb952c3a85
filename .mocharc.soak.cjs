// `npm run test:soak`: the settings of all tests, with the files that are slow or that do more (test/tiers.ts).
const { soakFilesNow } = require('./test/tiers.ts')

// Much of it waits: for programs that start, and for what is killed. A hundred starts take minutes on a busy machine.
const all = require('./.mocharc.json')
const requires = [...all.require, './test/soak-only.ts']
module.exports = { ...all, require: requires, jobs: 4, timeout: 900_000, spec: soakFilesNow() }
