/** `node bench/prepare.ts FOLDER`: what serve.ts serves, and target.json for whoever puts load on it. */
import { existsSync } from 'node:fs'
import { Command, InvalidArgumentError } from 'commander'
import { prepare } from './fixture/prepare.ts'
import { USUAL } from './fixture/shape.ts'

await new Command('prepare')
  .description('makes policies, schemas and data of a given size in a new folder')
  .argument('<folder>', 'what is in it is left alone: it must not be there')
  .option('--rules <number>', 'lines of policy.csv', atLeast(10), USUAL.rules)
  .option('--resources <number>', 'schema files', atLeast(5), USUAL.resources)
  .option('--notes <number>', 'objects', atLeast(200), USUAL.notes)
  .action(async (folder, shape, command) => {
    if (existsSync(folder)) command.error(`error: \`${folder}\` is there already; name a new folder`)
    await prepare(folder, shape)
  })
  .parseAsync()

function atLeast(least: number): (text: string) => number {
  return (text) => {
    if (/^\d{1,8}$/.test(text) && Number(text) >= least) return Number(text)
    throw new InvalidArgumentError(`It must be a whole number of at least ${least}.`)
  }
}
