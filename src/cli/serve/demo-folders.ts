/** `serve --demo` in a folder without schemas and policies serves those of the package. */
import { existsSync } from 'node:fs'
import type { Flags } from '../../config/config.ts'
import { DEMO_FOLDERS } from '../../tools/project/package-files.ts'

const NAMES = ['POLICIES', 'SCHEMAS'] as const

/** The folders, or undefined where somebody named one or the current folder has one. */
export function demoFolders(
  { demo, policies, schemas }: Flags,
  environment: Readonly<Record<string, string | undefined>>,
): typeof DEMO_FOLDERS | undefined {
  const isNamed = policies !== undefined || schemas !== undefined || NAMES.some((name) => environment[name])
  const isThere = existsSync('policies') || existsSync('schemas')
  return demo && !isNamed && !isThere ? DEMO_FOLDERS : undefined
}
