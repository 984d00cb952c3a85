/** The reports of a run, by format. */
import { writeFile } from 'node:fs/promises'
import { ReviewError } from '../../load-policy.ts'
import type { Run } from '../run/result.ts'
import { toHtml } from './page.ts'
import { toJson } from './to-json.ts'
import { toJunit } from './to-junit.ts'
import { toText } from './to-text.ts'

export const REPORTS: Readonly<Record<string, (run: Run) => string>> = {
  text: toText,
  junit: toJunit,
  json: toJson,
  html: toHtml,
}

interface ReportRequest {
  readonly format: string
  readonly file: string
}

/** Throws ReviewError where a file can't be written. */
export async function writeReports(requests: readonly ReportRequest[], run: Run): Promise<void> {
  for (const { format, file } of requests) await write(file, REPORTS[format]?.(run) ?? '')
}

async function write(file: string, text: string): Promise<void> {
  await writeFile(file, text).catch((error: NodeJS.ErrnoException) => {
    throw new ReviewError(
      `the report \`${file}\` can't be written (${error.code}); name a file of a folder that you may write to`,
    )
  })
}
