/**
 * What Node compiled is kept, as bin/sallyport.js keeps it: for this process, and for the programs that tests start
 * without the launcher.
 */
import { enableCompileCache } from 'node:module'

const { directory } = enableCompileCache(new URL('../node_modules/.cache/sallyport', import.meta.url).pathname)

if (directory !== undefined) process.env.NODE_COMPILE_CACHE ??= directory
