/** Finds the program that serves a folder. */
const { existsSync, readFileSync } = require('node:fs')
const { dirname, join } = require('node:path')

const PROGRAM = 'bin/sallyport.js'

/**
 * That of `node_modules/sallyport` in the folder or the nearest one above it; in a checkout of Sallyport, its own.
 * @param {string} folder
 * @returns {string | undefined}
 */
function findProgram(folder) {
  const installed = join(folder, 'node_modules/sallyport', PROGRAM)
  if (existsSync(installed)) return installed
  if (isCheckout(folder)) return join(folder, PROGRAM)
  const above = dirname(folder)
  return above === folder ? undefined : findProgram(above)
}

/** @param {string} folder */
function isCheckout(folder) {
  try {
    const { name } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    return name === 'sallyport' && existsSync(join(folder, PROGRAM))
  } catch {
    return false
  }
}

module.exports = { findProgram }
