/** sallyport policy block: refuses a user at once, whatever the rules say. */
import { Command, InvalidArgumentError } from 'commander'
import ms, { type StringValue } from 'ms'
import { block } from '../release/blocks.ts'
import type { ReviewFolders } from './policy-command.ts'

interface Options {
  readonly policies?: string
  readonly until?: string
  readonly reason?: string
}

const HELP = `
A running server refuses the user within a second, also while other policy files have faults.

  sallyport policy block user:mallory --until 2h --reason "stolen laptop"
`

export function policyBlockCommand(folders: ReviewFolders): Command {
  return new Command('block')
    .description('refuse a user at once, in blocked.txt')
    .argument('<user>', 'user:<id>', readUser)
    .option('--until <time>', 'when it ends: 2027-01-31T18:00:00Z, or after 2h, 30d', readEnd)
    .option('--reason <text>', 'why, as a comment in the file')
    .option('--policies <dir>', 'the policy files in force (POLICIES, policies)')
    .addHelpText('after', HELP)
    .action(async (id: string, options: Options) => {
      const { policies, until, reason } = { ...folders(), ...options }
      const outcome = await block(policies, { id, until, reason }, new Date())
      const end = until === undefined ? '' : ` until ${until}`
      process.stdout.write(
        outcome === 'blocked'
          ? `user:${id} is blocked${end}.\n`
          : `user:${id} was blocked already, as long or longer.\n`,
      )
    })
}

function readUser(text: string): string {
  if (!text.startsWith('user:') || text.length === 'user:'.length)
    throw new InvalidArgumentError('It must be user:<id>.')
  return text.slice('user:'.length)
}

function readEnd(text: string): string {
  const duration = /^\d+(\.\d+)? ?(s|m|h|d|w|seconds?|minutes?|hours?|days?|weeks?)$/.test(text)
    ? (ms(text as StringValue) ?? Number.NaN)
    : Number.NaN
  const time = Number.isNaN(duration) ? Date.parse(text) : Date.now() + duration
  if (Number.isNaN(time))
    throw new InvalidArgumentError('It must be a time like 2027-01-31T18:00:00Z, or a duration like 2h.')
  if (time <= Date.now()) throw new InvalidArgumentError('It is in the past.')
  return Number.isNaN(duration) ? text : new Date(time).toISOString()
}
