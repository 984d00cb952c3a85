/** sallyport policy …: examines policy files without a running server; release.ts, history.ts and blocks.ts put one in force. */
import { type Command, Option } from 'commander'
import { setExitCode } from '../../base/command-process.ts'
import { printNote, printReport } from '../../present/print.ts'
import { count } from '../../present/text.ts'
import type { PolicyPlace } from '../../tools/load-policy.ts'
import type { Holder, MatrixSubject } from '../../tools/permissions/matrix.ts'
import type { ReplayReport } from '../../tools/replay/replay.ts'
import { declareBreakGlass } from '../grants.ts'
import {
  AT,
  commandGroup,
  FAIL_ON_DIRECTION,
  FAIL_ON_SEVERITY,
  formats,
  gather,
  ONLY_RESOURCES,
  POLICIES,
  POLICY,
  SCHEMAS,
  SINCE,
  settingsWith,
  TEXT_OR_JSON,
  UNTIL,
  wholeNumber,
  withHelp,
} from '../options.ts'
import { withProgress } from '../progress.ts'
import { declareNames } from './names.ts'
import { declareProposals } from './proposals.ts'
import { declareRelease } from './release.ts'
import { declareTrim, declareUsage } from './usage.ts'

export function policyCommand(): Command {
  return commandGroup(
    'policy',
    'check, explain, compare and release policy files',
    declareCheck,
    declareExplain,
    declareMatrix,
    declareDiff,
    declareReplay,
    declareUsage,
    declareTrim,
    declareSuggest,
    declareNames,
    declareRelease,
    declareProposals,
    declareBreakGlass,
  )
}

function declareCheck(policy: Command): void {
  withHelp(policy.command('check'), {
    about: 'find mistakes in the policy files; each finding has its place and what to do',
    note: `The server refuses files with errors. It accepts warnings, but they are probably mistakes.
docs/checks.md lists all errors and warnings.
To suppress a warning, write a comment line above its line: # check-ignore CODE: reason

Exit code: 0 without errors, 1 with errors (with --fail-on warning, also with warnings), 2 when the check could not
run, for example with a broken schema file.`,
    examples: ['policy check', 'policy check policies-new --fail-on warning --format sarif'],
  })
    .argument('[policy]', POLICY)
    .addOption(SCHEMAS)
    .option(
      '--directory <file>',
      'the users that exist: a text file with one id a line, or a database file of the server',
    )
    .addOption(formats('text', 'json', 'sarif'))
    .addOption(
      new Option('--fail-on <severity>', 'the lowest severity that gives exit code 1')
        .choices(FAIL_ON_SEVERITY)
        .default('error'),
    )
    .option('--fix', 'first replace former words in the files by the words of today')
    .addOption(AT)
    .action(async (policies, { directory, failOn, format, fix, ...flags }) => {
      const { CHECK_FORMATS, checkPolicy, fixFormerWords } = await import('../../tools/check/check-policy.ts')
      const { readDirectory } = await import('../../tools/check/read-directory.ts')
      const { loadResources } = await import('../../resources/load/load-resources.ts')
      const { schemas, place, now } = await settingsWith({ ...flags, ...(policies && { policies }) })
      const resources = await loadResources(schemas)
      const users = directory === undefined ? undefined : await readDirectory(directory, resources)
      if (fix) {
        for (const [file, words] of await fixFormerWords(place, resources)) {
          printNote(`${file}: ${count(words, 'former word')} replaced\n`)
        }
      }
      const report = await checkPolicy({ policies: place, resources, users, now: new Date(now) })
      printReport(format, CHECK_FORMATS[format](report))
      if (report.errors > 0 || (failOn === 'warning' && report.warnings > 0)) setExitCode(1)
    })
}

function declareExplain(policy: Command): void {
  withHelp(policy.command('explain'), {
    about: 'explain whether a request is allowed: which lines decide it, and what is missing if it is refused',
    note: `Without --role and --subject, the caller has no credentials. A path with {id} stands for any object.
Without --with, conditions hold as --at and --address tell; the answer is shown for each of the others.
Without --becomes, the answer is about the object before the write. In a shell, quote the change: 'draft>placed'.`,
    examples: [
      'policy explain --role member GET /api/orders/{id}',
      'policy explain --role member DELETE /api/orders/{id} --relation owner+draft',
      'policy explain --role support DELETE /api/users/{id} --with office+fresh',
      "policy explain --role support PATCH /api/orders/{id} --becomes 'placed>shipped'",
      'policy explain --role support --subject sam PATCH /api/orders/{id} --object 0190b2c4-…',
      'policy explain --record - < decision.json',
    ],
  })
    .argument('[method]', 'GET, POST, …')
    .argument('[path]', 'the path of a request, or of a route: /api/orders/{id}')
    .addOption(POLICIES)
    .addOption(SCHEMAS)
    .option('--role <name>', 'a role that the caller has; repeat for more', gather, [])
    .option('--subject <id>', 'the id of the caller')
    .option('--object <id>', 'the stored object that the request is about; the command only reads the database')
    .option('--relation <names>', 'assume that exactly these relations hold: owner+draft, or none')
    .option('--with <names>', 'assume that exactly these conditions of the request hold: office+fresh, or none')
    .option('--address <address>', 'the address of the client, for conditions that look at it')
    .option('--becomes <change>', 'assume that the write changes the state of the object: draft>placed')
    .option('--record <file>', 'explain the decision record in this file; - reads standard input')
    .option(
      '--request-id <id>',
      'explain the record of this request in the decision log, with the policy that decided it',
    )
    .option('--exit-code', 'exit with 1 when the request is refused, or when its answer depends on what is not known')
    .option('--at <time>', 'decide for this time, like 2027-01-31T18:00:00Z (now; for a record, its own time)')
    .addOption(TEXT_OR_JSON)
    .action(async (method, path, { format, exitCode, ...flags }) => {
      const { EXPLAIN_FORMATS } = await import('../../tools/explain/text/formats.ts')
      const { explainFlags } = await import('./explain.ts')
      const explanation = await explainFlags(method, path, flags)
      printReport(format, EXPLAIN_FORMATS[format](explanation))
      if (exitCode && (explanation.answer?.status ?? 400) >= 400) setExitCode(1)
    })
}

function declareSuggest(policy: Command): void {
  withHelp(policy.command('suggest-guarantees'), {
    about: 'propose guarantees that the policy keeps already, and say which mistakes they would refuse',
    note: `The mistakes are those of \`matrix mutate\`. The sentence that refuses the most of them comes first; each one after it
refuses some that nothing above it and no present guarantee refuses. The text is YAML to copy into guarantees.yaml.
A sentence holds now: whether it must always hold is for you to say. Of more than 2,000 mistakes, only some are tried.

Exit code: 0, or 2 when the command could not run.`,
    examples: ['policy suggest-guarantees', 'policy suggest-guarantees --resource orders --format json'],
  })
    .addOption(POLICIES)
    .addOption(SCHEMAS)
    .addOption(ONLY_RESOURCES)
    .addOption(TEXT_OR_JSON)
    .action(async ({ resource: names, format, ...flags }) => {
      const { SUGGEST_FORMATS, suggestGuarantees } = await import('../../tools/guarantees/suggest.ts')
      const { loadPolicy } = await import('../../tools/load-policy.ts')
      const { loadResources } = await import('../../resources/load/load-resources.ts')
      const { aboutOf } = await import('../../tools/matrix/mutate/judge-mutant.ts')
      const { schemas, place } = await settingsWith(flags)
      const resources = await loadResources(schemas)
      const about = aboutOf(resources, names)
      const loaded = await loadPolicy(place, resources)
      const found = await withProgress('trying mistakes {bar} {value} of {total}', (bar) =>
        suggestGuarantees({
          ...loaded,
          resources,
          about,
          now: Date.now(),
          observe: (done, of) => (done === 1 ? bar.start(of, 1) : bar.update(done)),
        }),
      )
      printReport(format, SUGGEST_FORMATS[format](found))
    })
}

function declareMatrix(policy: Command): void {
  withHelp(policy.command('matrix'), {
    about: 'show who can do what: each caller, method, path and relation',
    note: 'Marks with ? depend on conditions of the request. Rows like draft>placed tell what a write may make of an object.',
    examples: [
      'policy matrix',
      'policy matrix --with office+fresh',
      'policy matrix --role support --resource orders --relation placed+open',
      'policy matrix --role member --role support --format csv',
      'policy matrix --format html --people',
    ],
  })
    .addOption(POLICIES)
    .addOption(SCHEMAS)
    .option(
      '--role <name...>',
      'only this caller: a role, anonymous, everyone or user:<id>; a+b is a caller with both roles; repeat for more',
      [],
    )
    .addOption(ONLY_RESOURCES)
    .option('--relation <names>', 'only objects for which exactly these relations hold: owner+draft, or none')
    .option('--with <names>', 'assume that exactly these conditions of the request hold: office+fresh, or none', 'none')
    .addOption(AT)
    .option(
      '--subject <caller>',
      'only this caller, user:<id>, with its roles in the database, also those for a time (access grants)',
    )
    .option('--people', 'with --format html: also who holds each role, from the directory of the database')
    .addOption(formats('table', 'csv', 'json', 'html'))
    .action(async ({ format, people, subject: named, role: roles, resource: only, with: holding, ...flags }) => {
      const { MATRIX_FORMATS } = await import('../../tools/permissions/formats.ts')
      const { readMatrix } = await import('../../tools/permissions/matrix.ts')
      const { ToolError } = await import('../../tools/load-policy.ts')
      if (people && format !== 'html') {
        throw new ToolError('--people is for the page alone: write `--format html --people`')
      }
      const { place, ...usual } = await settingsWith(flags)
      const holders = people ? await holdersHere(place) : undefined
      const subject = named === undefined ? undefined : await subjectHere(named, place, usual.now)
      const matrix = await readMatrix({ ...usual, policies: place, roles, only, holding, people: holders, subject })
      printReport(format, MATRIX_FORMATS[format](matrix))
    })
}

/** Throws ToolError. */
async function subjectHere(named: string, place: PolicyPlace, now: number): Promise<MatrixSubject> {
  const { inDirectory } = await import('../identity/directory.ts')
  const { subjectNamed } = await import('../../tools/permissions/matrix.ts')
  const grants = typeof place === 'string' ? new Map() : await place.roleGrants(now)
  return inDirectory(({ directory }) => subjectNamed(named, directory, grants, now))
}

/** Users and API keys, with their roles. */
async function holdersHere(place: PolicyPlace): Promise<readonly Holder[]> {
  const { inDirectory } = await import('../identity/directory.ts')
  const now = Date.now()
  const grants = typeof place === 'string' ? new Map() : await place.roleGrants(now)
  return inDirectory(async ({ directory }) => {
    const { holdersOf } = await import('../../tools/permissions/paper.ts')
    const { withGrantedRoles } = await import('../../tools/access/granted-roles.ts')
    const people = await withGrantedRoles(directory, grants, now).people()
    return holdersOf(people, await directory.keys(), { grants, now })
  })
}

function declareDiff(policy: Command): void {
  withHelp(policy.command('diff'), {
    about: 'compare two policies: which requests they decide differently',
    note: `OLD and NEW are each a directory, a git revision (main, HEAD~1, a tag, ...), or a version that is published in
the database: database: (the last one), database:3, or database: and its revision.
A revision can name a path from the top of the repository: main:deploy/policies.
Both policies are read with the schemas of the working tree.
A change that may widen or narrow counts as both. A difference that starts when a rule ends (until=) has its time.
Exit code: 0, or 1 for a change that --fail-on names, or 2 when the policies could not be compared.`,
    examples: [
      'policy diff main policies --fail-on widening',
      'policy diff HEAD~1 HEAD --format markdown',
      'policy diff database: policies',
      'policy diff main policies --format html',
    ],
  })
    .argument('<old>', 'a directory, a git revision, or database:<version>')
    .argument('<new>', 'the same')
    .option('--policies <directory>', 'the path of the policy files within a revision (policies)')
    .option('--schemas <directory>', 'schema files for both policies (SCHEMAS, schemas)')
    .addOption(AT)
    .addOption(formats('text', 'json', 'markdown', 'html'))
    .addOption(new Option('--fail-on <direction>', 'exit with 1 if there is such a change').choices(FAIL_ON_DIRECTION))
    .option(
      '--lines',
      'with --format json: also what changed lines of NEW mean by themselves: 20 of each file, fewer with over 1,000 rules',
    )
    .action(async (before, after, { format, failOn, lines, ...flags }) => {
      const { ToolError } = await import('../../tools/load-policy.ts')
      if (lines && format !== 'json') throw new ToolError('--lines is for JSON alone: write `--format json --lines`')
      const { DIFF_FORMATS } = await import('../../tools/diff/formats.ts')
      const { readSide } = await import('../../tools/diff/revision.ts')
      const { fails, reportOn } = await import('../../analysis/diff/compare-policies.ts')
      const { loadResources } = await import('../../resources/load/load-resources.ts')
      const { policies, schemas, now, placeOf } = await settingsWith(flags)
      const resources = await loadResources(schemas)
      const read = (side: string) => readSide(placeOf(side), policies, resources)
      const sides = { before: await read(before), after: await read(after) }
      const report = reportOn({ before, after }, sides, { resources, now })
      const { linesOf } = await import('../../tools/diff/line-meanings.ts')
      const told = lines ? { ...report, lines: linesOf(sides, { resources, now }) } : report
      printReport(format, DIFF_FORMATS[format](told))
      if (failOn && fails(report, failOn)) setExitCode(1)
    })
}

function declareReplay(policy: Command): void {
  withHelp(policy.command('replay'), {
    about: 'decide the requests of a decision log again under a candidate, and show the differences',
    note: `The candidate is compared with the present policy, or with --baseline, so earlier edits are no differences.
Without --candidate and --baseline, the command decides the requests under the present policy files, and shows whether
they still give the answers of the log. It also says how many requests it can't decide again, and why.
Exit code: 0 without differences, 1 with differences, 2 when it could not run or could decide no request again.`,
    examples: ['policy replay data/decisions.log --candidate policies-new'],
  })
    .argument('<log...>', 'decision log files, oldest first')
    .option('--candidate <dir>', 'policy files of the candidate, or database:<version>')
    .option('--baseline <dir>', 'with --candidate, compare it with this policy (POLICIES, policies)')
    .option('--policies <directory>', 'the present policy files, or database: (POLICIES, policies)')
    .addOption(SCHEMAS)
    .addOption(SINCE)
    .addOption(UNTIL)
    .option('--examples <number>', 'how many request ids to show for each difference', wholeNumber(0, 9999), 3)
    .addOption(TEXT_OR_JSON)
    .action(async (files, { format, since = -Infinity, until = Infinity, examples: maxExamples, ...flags }) => {
      const { REPLAY_FORMATS } = await import('../../tools/replay/formats.ts')
      const { openCandidate, replay, sizeOf } = await import('../../tools/replay/replay.ts')
      const { loadResources } = await import('../../resources/load/load-resources.ts')
      const { ToolError } = await import('../../tools/load-policy.ts')
      const { policies, schemas, placeOf, candidate, baseline } = await settingsWith(flags)
      const size = await sizeOf(files)
      const resources = await loadResources(schemas)
      const compared = baseline ?? (candidate === undefined ? undefined : policies)
      const sides = {
        candidate: await openCandidate(placeOf(candidate ?? policies), resources),
        baseline: compared === undefined ? undefined : await openCandidate(placeOf(compared), resources),
      }
      const report = await withProgress('replaying {bar} {percentage}% {eta_formatted} left', (bar) => {
        bar.start(size, 0)
        return replay(sides, { files, since, until, maxExamples, onProgress: (n) => bar.increment(n) })
      })
      if (isOfOtherLines(report)) {
        throw new ToolError(`${files.join(', ')} holds no decision record: name decision logs`)
      }
      printReport(format, REPLAY_FORMATS[format](report))
      if (report.groups.length > 0) setExitCode(1)
      const left = [...report.undecidable.values()].reduce((total, one) => total + one, 0)
      // If no request was decided, `nothing differs` would say nothing about the candidate.
      if (report.decided > 0 || left === 0) return
      throw new ToolError(
        `none of ${count(left, 'request')} could be decided again: name a log with the facts that the candidate needs`,
      )
    })
}

/** Of a file that isn't a decision log, "nothing differs" would be misleading. A log may be empty or partly damaged. */
function isOfOtherLines({ decided, unconcerned, undecidable, leftOut, otherLines }: ReplayReport): boolean {
  return otherLines > 0 && decided + unconcerned + leftOut + undecidable.size === 0
}
