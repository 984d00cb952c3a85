// `npm run test:soak`: the settings of all tests, with the files that are slow or that do more (test/tiers.ts).
const { soakFiles } = require('./test/tiers.ts')

// Much of it waits: for programs that start, and for what is killed.
const all = require('./.mocharc.json')
module.exports = { ...all, require: [...all.require, './test/soak-only.ts'], jobs: 4, spec: soakFiles() }
