/**
 * Runs before the tests (`pretest`): they run in several processes, which would get in each other's way if each
 * installed what it misses.
 */
import { installAll } from './programs.ts'

try {
  installAll()
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
  process.exitCode = 1
}
