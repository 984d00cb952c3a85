/** `npm run bench:page`: docs/performance/results.json -> the plots and measurements beside it, and docs/performance.md. */
import { readFile, writeFile } from 'node:fs/promises'
import { fillPage } from './report/page.ts'
import { plotsOf } from './report/plots.ts'
import type { RunResult } from './report/result.ts'

const FOLDER = new URL('../docs/performance/', import.meta.url)

const run: RunResult = JSON.parse(await readFile(new URL('results.json', FOLDER), 'utf8'))
for (const page of ['../performance.md', 'measurements.md', 'size.md'].map((name) => new URL(name, FOLDER)))
  await writeFile(page, fillPage(await readFile(page, 'utf8'), run))
for (const { name, draw } of run.parts.flatMap(plotsOf)) await writeFile(new URL(`${name}.svg`, FOLDER), draw())
