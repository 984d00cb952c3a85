#!/usr/bin/env node
// `npm create sallyport my-api` is `sallyport init my-api`, of the version that this package depends on.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const own = import.meta.resolve('sallyport/package.json')
const program = fileURLToPath(new URL('bin/sallyport.js', own))
const { status } = spawnSync(process.execPath, [program, 'init', ...process.argv.slice(2)], { stdio: 'inherit' })
process.exitCode = status ?? 2
