/** Loaded before the program: sends it SIGHUP with each of its own modules that it loads. */
import { registerHooks } from 'node:module'

registerHooks({
  load: (url, context, next) => {
    if (url.includes('/src/')) process.kill(process.pid, 'SIGHUP')
    return next(url, context)
  },
})
