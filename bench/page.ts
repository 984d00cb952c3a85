/** `npm run bench:page`: docs/performance/results.json -> the plots beside it, and the tables of docs/performance.md. */
import { readFile, writeFile } from 'node:fs/promises'
import { fillPage } from './report/page.ts'
import { plotsOf } from './report/plots.ts'
import type { RunResult } from './report/result.ts'

const PAGE = new URL('../docs/performance.md', import.meta.url)
const FOLDER = new URL('../docs/performance/', import.meta.url)

const run: RunResult = JSON.parse(await readFile(new URL('results.json', FOLDER), 'utf8'))
await writeFile(PAGE, fillPage(await readFile(PAGE, 'utf8'), run))
for (const { name, draw } of run.parts.flatMap(plotsOf)) await writeFile(new URL(`${name}.svg`, FOLDER), draw())
