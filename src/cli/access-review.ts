/** sallyport access review, verify-review: a person confirms and revokes lines of an access report, and signs that. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import { commandProcess } from '../base/command-process.ts'
import { print, printReport } from '../present/print.ts'
import { printable } from '../present/quote.ts'
import { jsonOfLines } from '../present/text.ts'
import { isNumbers } from '../tools/access/line-numbers.ts'
import type { AccessReview } from '../tools/access/review.ts'
import { inPhases } from './access-progress.ts'
import { DATABASE, formats, POLICIES, SCHEMAS, settingsWith, withHelp } from './options.ts'
import { KEY } from './policy/proposals.ts'

export function declareAccessReview(access: Command): void {
  withHelp(access.command('review'), {
    about: 'confirm and revoke lines of an access report, and sign that with your key (approvals.yaml)',
    note: `A line has the number of its row in the report; the report says its digest. It changes nothing: what is revoked
needs a change of the policy, which it suggests. If the access has changed since the report, it is refused.

Exit code: 0 when it is signed, 2 when it could not run.`,
    examples: [
      'access review --report DIGEST --confirm 1-40,42 --revoke 41 --key ~/.ssh/id_ed25519 > review.json',
      'access review --report DIGEST --confirm 1-40 --reason "fourth quarter" --key ssh-agent:ada > review.json',
    ],
  })
    .requiredOption('--report <digest>', 'the `digest` of the report')
    .addOption(new Option('--confirm <lines>', 'these lines: 1-40,42').argParser(numbers).default(''))
    .addOption(new Option('--revoke <lines>', 'these lines').argParser(numbers).default(''))
    .option('--reason <text>', 'a remark, kept with the review')
    .requiredOption(...KEY)
    .addOption(POLICIES)
    .addOption(SCHEMAS)
    .addOption(DATABASE)
    .addOption(formats('json', 'text'))
    .action(async ({ format, report: digest, confirm, revoke, reason, key, ...flags }) => {
      const { openPersonSigner } = await import('../identity/keys/person-signer.ts')
      const { askReview } = await import('../tools/access/open-access.ts')
      const signer = await openPersonSigner(key, commandProcess().env)
      const settings = await settingsWith(flags)
      const review = await inPhases((progress) =>
        askReview({ ...settings, signer, digest, confirm, revoke, reason, progress }),
      )
      printReport(format, format === 'json' ? jsonOfLines(review, 'lines') : textOf(review))
    })
  withHelp(access.command('verify-review'), {
    about: 'verify a review of access that somebody has signed',
    note: 'Exit code: 0 when it is valid, 2 when it is not, or could not be read.',
    examples: ['access verify-review review.json', 'access verify-review review.json --policies database:3'],
  })
    .argument('<file>', 'a file that `access review` has made')
    .addOption(POLICIES)
    .addOption(SCHEMAS)
    .action(async (file, flags) => {
      const { readReview } = await import('../tools/access/open-access.ts')
      const { by, time, revision, confirmed, revoked } = await readReview(file, await settingsWith(flags))
      const decided = `confirmed ${confirmed || 'nothing'}, and revoked ${revoked || 'nothing'}`
      print(`${printable(`\`${by}\` reviewed the access by policy ${revision} at ${time}: ${decided}.`)}\n`)
    })
}

function numbers(text: string): string {
  if (text === '' || isNumbers(text)) return text
  throw new InvalidArgumentError('Write numbers of lines in order: 1-40,42.')
}

function textOf({ by, lines, confirmed, revoked, undecided, revoking: { edits, keys } }: AccessReview): string {
  const head = `\`${by}\` has reviewed ${lines.length} lines: ${confirmed} confirmed, ${revoked} revoked, ${undecided} undecided.`
  const changes = edits.map(({ file, line, text }) => `Line ${line} of ${file} would become\n${text}`)
  const ofKeys = keys.map((id) => `sallyport key revoke ${id}`)
  return `${[head, ...changes, ...ofKeys].join('\n')}\n`
}
