/** sallyport policy block: refuses a user at once, whatever the rules say. */
import { Command, InvalidArgumentError } from 'commander'
import ms, { type StringValue } from 'ms'
import type { OpenDirectory } from '../identity/directory/directory-access.ts'
import { doubtAbout, idOf, soundSubject } from '../identity/directory/who-is-meant.ts'
import { print, tell } from '../present/print.ts'
import { printable } from '../present/quote.ts'
import { block } from '../tools/release/blocks.ts'
import type { ReviewFolders } from './policy-command.ts'

interface Options {
  readonly policies?: string
  readonly until?: string
  readonly reason?: string
}

const HELP = `
A running server refuses the user within a second, also while other policy files have faults. An id that no user of this
server has is blocked too, and you are told.

  sallyport policy block user:mallory --until 2h --reason "stolen laptop"
`

export function policyBlockCommand(folders: ReviewFolders, open: OpenDirectory): Command {
  return new Command('block')
    .description('refuse a user at once, in blocked.txt')
    .argument('<user>', 'user:<id>, or the e-mail address of a user of this server')
    .option('--until <time>', 'when it ends: 2027-01-31T18:00:00Z, or after 2h, 30d', readEnd)
    .option('--reason <text>', 'why, as a comment in the file')
    .option('--policies <dir>', 'the policy files in force (POLICIES, policies)')
    .addHelpText('after', HELP)
    .action(async (named: string, options: Options) => {
      const { policies, until, reason } = { ...folders(), ...options }
      const id = soundSubject(await idOf(open, named))
      const outcome = await block(policies, { id, until, reason }, new Date())
      const end = until === undefined ? '' : ` until ${until}`
      const who = printable(`user:${id}`)
      print(outcome === 'blocked' ? `${who} is blocked${end}.\n` : `${who} was blocked already, as long or longer.\n`)
      const doubt = await doubtAbout(open, id)
      if (doubt) tell(`sallyport: ${printable(doubt)}\n`)
    })
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
