// `npm run test:soak`: the settings of all tests, with the files that are slow or that do more (test/tiers.ts).
const { soakFiles } = require('./test/tiers.ts')

module.exports = { ...require('./.mocharc.json'), spec: soakFiles() }
