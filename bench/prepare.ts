/** `node bench/prepare.ts FOLDER`: what serve.ts serves, and target.json for whoever puts load on it. */
import { existsSync } from 'node:fs'
import { Command, CommanderError, InvalidArgumentError } from 'commander'
import { prepare } from './fixture/prepare.ts'
import { type Shape, USUAL } from './fixture/shape.ts'

const program = new Command('prepare')
  .description('makes policies, schemas and data of a given size')
  .argument('<folder>', 'a new one')
  .option('--rules <number>', 'lines of policy.csv', atLeast(10), USUAL.rules)
  .option('--resources <number>', 'schema files', atLeast(5), USUAL.resources)
  .option('--notes <number>', 'objects', atLeast(200), USUAL.notes)
  .exitOverride()
  .action(async (folder: string, shape: Shape) => {
    if (existsSync(folder)) program.error(`error: \`${folder}\` is there already; name a new folder`)
    await prepare(folder, shape)
  })

try {
  await program.parseAsync()
} catch (error) {
  if (!(error instanceof CommanderError)) throw error
  process.exitCode = error.exitCode === 0 ? 0 : 2
}

function atLeast(least: number): (text: string) => number {
  return (text) => {
    if (/^\d{1,8}$/.test(text) && Number(text) >= least) return Number(text)
    throw new InvalidArgumentError(`It must be a whole number of at least ${least}.`)
  }
}
