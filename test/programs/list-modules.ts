/** Loaded before the program: writes the address of each module that it loads into the file that MODULES names. */
import { appendFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

const { MODULES = '' } = process.env

registerHooks({
  load: (url, context, next) => {
    appendFileSync(MODULES, `${url}\n`)
    return next(url, context)
  },
})
