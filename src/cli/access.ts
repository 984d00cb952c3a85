/** sallyport access …: who can do what, in people. */
import type { Command } from 'commander'
import { printReport } from '../present/print.ts'
import { inPhases } from './access-progress.ts'
import { declareAccessReview } from './access-review.ts'
import { declareGrants } from './grants.ts'
import {
  AT,
  commandGroup,
  DATABASE,
  formats,
  POLICIES,
  SCHEMAS,
  settingsWith,
  TEXT_OR_JSON,
  withHelp,
} from './options.ts'

export function accessCommand(): Command {
  return commandGroup(
    'access',
    'say who can do what now: people, API keys and tokens',
    declareWho,
    declareOf,
    declareReport,
    declareCompare,
    declareAccessReview,
    declareGrants,
  )
}

function declareWho(access: Command): void {
  withHelp(access.command('who'), {
    about: 'list everybody who can make a request now, with the lines and objects that allow it',
    note: `It reads the database beside a running server, and changes nothing. People are those of the users resource.
What nobody can know beforehand (an address, a sign-in, the claims of a token) stands in the column \`when\`.
What it can't decide is listed as undecided.

Exit code: 0 when it could say who can, 2 when it could not run.`,
    examples: [
      'access who GET /api/v1/orders/17',
      'access who PATCH /api/v1/orders/17 --field note --format json',
      'access who DELETE /api/v1/orders/17 --at 2027-01-31 --log data/decisions.log',
    ],
  })
    .argument('<method>', 'GET, POST, PUT, PATCH or DELETE')
    .argument('<path>', 'the path of the request, without a query')
    .option('--field <name>', 'who can read (or write) this field')
    .option('--log <file>', 'the decision log, for when each did it last (DECISION_LOG_FILE, <DATA_DIR>/decisions.log)')
    .addOption(POLICIES)
    .addOption(SCHEMAS)
    .addOption(DATABASE)
    .addOption(AT)
    .addOption(TEXT_OR_JSON)
    .action(async (method, path, { format, field, log, ...flags }) => {
      const { askWho } = await import('../tools/access/open-access.ts')
      const { WHO_FORMATS } = await import('../tools/access/formats.ts')
      const report = await askWho({ ...(await settingsWith(flags)), method, path, field, log })
      printReport(format, WHO_FORMATS[format](report))
    })
}

function declareOf(access: Command): void {
  withHelp(access.command('of'), {
    about: 'list what one person or API key can do now: actions, fields, and how many objects',
    note: `It reads the database beside a running server, and changes nothing. The database counts the objects.
A row with a condition in \`when\` counts the objects while this condition holds.

Exit code: 0 when it could say what, 2 when it could not run.`,
    examples: ['access of user:alice', 'access of user:alice --objects --format json', 'access of key:EcP2LDMWFc'],
  })
    .argument('<subject>', 'user:<id> of a person, or key:<id> of an API key')
    .option('--objects', 'also list the ids of the objects')
    .addOption(POLICIES)
    .addOption(SCHEMAS)
    .addOption(DATABASE)
    .addOption(AT)
    .addOption(TEXT_OR_JSON)
    .action(async (named, { format, objects = false, ...flags }) => {
      const { askOf } = await import('../tools/access/open-access.ts')
      const { OF_FORMATS } = await import('../tools/access/formats.ts')
      const report = await askOf({ ...(await settingsWith(flags)), named, objects })
      printReport(format, OF_FORMATS[format](report))
    })
}

function declareReport(access: Command): void {
  withHelp(access.command('report'), {
    about: 'list what every person and API key can do now, for a review, with findings',
    note: `It reads the database beside a running server, and changes nothing. The findings are: people who are disabled or
blocked and still have rules, rules for a user who is nobody, keys never used, roles without a holder, and, with a
decision log, people with a role whose rules never allowed a request of theirs.

Exit code: 0 when the report is whole, 2 when it could not run.`,
    examples: ['access report > access.csv', 'access report --format html --log data/decisions.log > access.html'],
  })
    .option('--log <file>', 'the decision log, for unused roles (DECISION_LOG_FILE, <DATA_DIR>/decisions.log)')
    .addOption(POLICIES)
    .addOption(SCHEMAS)
    .addOption(DATABASE)
    .addOption(AT)
    .addOption(formats('csv', 'json', 'html'))
    .action(async ({ format, log, ...flags }) => {
      const { askReport } = await import('../tools/access/open-access.ts')
      const { ACCESS_REPORT_FORMATS } = await import('../tools/access/formats.ts')
      const settings = await settingsWith(flags)
      const report = await inPhases((progress) => askReport({ ...settings, log, progress }))
      printReport(format, ACCESS_REPORT_FORMATS[format](report))
    })
}

function declareCompare(access: Command): void {
  withHelp(access.command('compare'), {
    about: 'list who gained or lost what between two versions of the policy',
    note: `Both versions are compared with the people, keys and objects of today. People who only have a token of an identity
provider aren't compared: \`policy diff\` says what changes for their roles. A version is a number or a revision of \`policy history\`, a time (the version that was in force
then), a directory, a git revision, or database:<version>.

Exit code: 0 when both versions were compared, 2 when it could not run.`,
    examples: [
      'access compare --from 2026-11-01',
      'access compare --from 3 --to 4 --format json',
      'access compare --from policies --to candidate',
    ],
  })
    .requiredOption('--from <version>', 'the earlier version')
    .option('--to <version>', 'the later version (the policy in force)')
    .addOption(POLICIES)
    .addOption(SCHEMAS)
    .addOption(DATABASE)
    .addOption(AT)
    .addOption(TEXT_OR_JSON)
    .action(async ({ format, from, to, ...flags }) => {
      const { askCompare } = await import('../tools/access/open-access.ts')
      const { COMPARE_FORMATS } = await import('../tools/access/formats.ts')
      const settings = await settingsWith(flags)
      const report = await inPhases((progress) => askCompare({ ...settings, from, to, progress }))
      printReport(format, COMPARE_FORMATS[format](report))
    })
}
