/** Process entry: command line in, exit code out. 0: no findings; 1: findings; 2: the command could not run. */
import './base/node-24.ts'
import { CommanderError } from 'commander'
import { runProgram } from './cli/program.ts'
import { failureText } from './config/mend-of.ts'
import { tellProblem } from './present/print.ts'

/** Errors whose message was written for whoever starts the program, by name: most of their classes aren't loaded. */
const FOR_PEOPLE: ReadonlySet<string> = new Set([
  'ConfigError',
  'DamagedObject',
  'DemoRefused',
  'DirectoryError',
  'FileError',
  'KeyError',
  'LeaseLost',
  'MigrationRefused',
  'ToolError',
  'UnfitDatabase',
  'UnfitObject',
])

process.stdout.on('error', failToWrite)
try {
  await runProgram(process.argv.slice(2))
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2
  // bin/sallyport.js tells of a lost file, because the one that tells could be lost too.
  else if ((error as NodeJS.ErrnoException)?.code === 'ERR_MODULE_NOT_FOUND') throw error
  else fail(error)
}

/** A reader that has seen enough (`| head`) is no fault; a full disk is one. */
function failToWrite(error: NodeJS.ErrnoException): never {
  if (error.code === 'EPIPE') process.exit()
  tellProblem(`sallyport: the output can't be written (${error.code}); write it to another place\n`)
  process.exit(2)
}

/** A sentence for whoever can do something about it; a fault of the program keeps its stack. */
function fail(error: unknown): void {
  const known = FOR_PEOPLE.has((error as Error)?.name) || (error as NodeJS.ErrnoException)?.syscall
  const { stack } = error instanceof Error ? error : new Error(String(error))
  tellProblem(`sallyport: ${known ? failureText(error as Error, process.argv.slice(2)) : stack}\n`)
  process.exitCode = 2
}
