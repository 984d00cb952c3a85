/** Serves a prepared folder on PORT: `node bench/serve.ts FOLDER`. Loads nothing but what `sallyport serve` loads. */
import { resolve } from 'node:path'
import { environmentOf } from './fixture/environment.ts'

Object.assign(process.env, environmentOf(resolve(process.argv[2] ?? '.')))
process.argv = [process.execPath, 'sallyport', 'serve']
await import('../src/main.ts')
