// A process for test/release/killed.test.ts: puts one directory in force after the other until it is killed.
import { flushCompileCache } from 'node:module'
import { readContent } from '../../src/tools/release/content.ts'
import { apply } from './fixture.ts'

const [live = '', ...candidates] = process.argv.slice(2)
const contents = await Promise.all(candidates.map(readContent))
// Who is killed leaves nothing for the next start.
flushCompileCache()
process.stdout.write('ready\n')
for (;;) for (const content of contents) await apply(live, content)
