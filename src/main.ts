/** Process entry: command line in, exit code out. */
import './base/node-24.ts'
import { systemReason } from './base/files/system-reason.ts'
import { runHere } from './cli/run.ts'
import { printProblem } from './present/print.ts'

process.stdout.on('error', failToWrite)
await runHere(process.argv.slice(2))

/** A reader that has seen enough (`| head`) is no fault; a full disk is one. */
function failToWrite(error: NodeJS.ErrnoException): never {
  if (error.code === 'EPIPE') process.exit()
  printProblem(`sallyport: the output can't be written (${systemReason(error.code)}); write it to another place\n`)
  process.exit(2)
}
