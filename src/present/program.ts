/** What package.json says of the program: it is beside src/ in a checkout, and beside dist/ in the package. */
import { readFileSync } from 'node:fs'

interface Package {
  readonly description: string
  readonly version: string
}

export const PROGRAM = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as Package
