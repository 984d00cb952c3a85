// A process for test/release/killed.test.ts: puts one directory in force after the other until it is killed.
import { readContent } from '../../src/release/content.ts'
import { apply } from './fixture.ts'

const [live = '', ...candidates] = process.argv.slice(2)
const contents = await Promise.all(candidates.map(readContent))
process.stdout.write('ready\n')
for (;;) for (const content of contents) await apply(live, content)
