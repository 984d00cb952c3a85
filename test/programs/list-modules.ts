/**
 * Loaded before the program: writes the address of each module that its main thread loads into the file that MODULES names.
 * Other threads begin to load at the start, and end when they do: no request waits for them.
 */
import { appendFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { isMainThread } from 'node:worker_threads'

const { MODULES = '' } = process.env

if (isMainThread) {
  registerHooks({
    load: (url, context, next) => {
      appendFileSync(MODULES, `${url}\n`)
      return next(url, context)
    },
  })
}
