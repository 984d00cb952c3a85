/** All of a workflow's run: the steps, then their report as log, annotations, SARIF, comment, summary and outputs. */

import { constants } from 'node:fs'
import { realpath, writeFile } from 'node:fs/promises'
import { dirname, relative, resolve, sep } from 'node:path'
import type { Environment } from '../../../base/command-process.ts'
import type { Diagnostic } from '../../../base/diagnostic.ts'
import { writingPlace } from '../../../base/files/project-file.ts'
import { systemReason } from '../../../base/files/system-reason.ts'
import { markdownText, say } from '../../../present/phrase.ts'
import { sarifText } from '../../../present/sarif.ts'
import { type Commented, type CommentPlace, putComment } from './comment.ts'
import { refuseLinksOut, refuseWithoutGit } from './inside.ts'
import { findBase, type Occasion, readOccasion } from './occasion.ts'
import { jobReport } from './report.ts'
import { type Approvers, readReviews } from './reviews.ts'
import { type JobStep, type JobWishes, runSteps, STEPS, type StepCode } from './steps.ts'
import { annotations, appendTo, command, group, outputLines } from './workflow-commands.ts'

export interface JobOptions extends Omit<JobWishes, 'findBase' | 'findApprovers'> {
  /** A revision to compare with, in place of the one that the event names. */
  readonly base?: string | undefined
  /** Whether a pull request gets a comment. */
  readonly comment: boolean
  /** A file to write. */
  readonly sarif?: string | undefined
}

export interface JudgedChange {
  readonly code: StepCode
  readonly log: string
}

/** Throws ToolError if it can't tell what it is asked about; a step that can't run is a result. */
export async function judgeChange(options: JobOptions, env: Environment): Promise<JudgedChange> {
  const occasion = await readOccasion(env)
  const top = await realpath(env.GITHUB_WORKSPACE || '.')
  const here = await realpath('.')
  await refuseWithoutGit(here)
  await refuseLinksOut(top, [options.policies, options.schemas, ...options.matrices])
  const project = relative(top, here).replaceAll(sep, '/')
  const placed = (finding: Diagnostic) => ({ ...finding, file: placedFile(top, resolve(here, finding.file), finding) })
  const steps = await runSteps({
    ...options,
    findBase: () => findBase(here, options.base, occasion),
    findApprovers: () => findApprovers(occasion, env),
  })
  const sarif = await writeSarif(options.sarif, steps, placed)
  const code = Math.max(sarif.fault === '' ? 0 : 2, ...steps.map((step) => step.code)) as StepCode
  const title = markdownText(project === '' ? say`Sallyport` : say`Sallyport: ${project}`)
  const report = jobReport(steps, title)
  const commented = options.comment ? await comment({ steps, report, project }, occasion, env) : NOT_NEEDED
  await appendTo(env.GITHUB_STEP_SUMMARY, report)
  await appendTo(env.GITHUB_OUTPUT, outputLines(outputsOf(steps, { code, sarif: sarif.path, commented })))
  const findings = steps.flatMap((step) => step.findings.map(placed))
  const logs = steps.map((step) => group(`${STEPS[step.name]}: ${step.result}`, step.text))
  return { code, log: [...logs, annotations(findings), remarkOn(commented), sarif.fault, verdict(steps)].join('') }
}

const NOT_NEEDED: Commented = { kind: 'not-needed' }

/** As GitHub names files: from the top of the repository. A file elsewhere keeps the name that the user gave it. */
function placedFile(top: string, path: string, { file }: Diagnostic): string {
  const inside = relative(top, path).replaceAll(sep, '/')
  return inside.startsWith('../') ? file : inside
}

interface WrittenSarif {
  /** Empty if none was written. */
  readonly path: string
  /** A line of the log; empty without a fault. */
  readonly fault: string
}

/** A file that can't be written takes nothing from the report. */
async function writeSarif(
  file: string | undefined,
  steps: readonly JobStep[],
  placed: (finding: Diagnostic) => Diagnostic,
): Promise<WrittenSarif> {
  const runs = steps.flatMap(({ sarif }) => (sarif ? [sarif(placed)] : []))
  if (file === undefined || runs.length === 0) return { path: '', fault: '' }
  try {
    // Not through a link, which a pull request may have brought.
    const { O_CREAT, O_NOFOLLOW, O_TRUNC, O_WRONLY } = constants
    await writingPlace(dirname(file))
    await writeFile(file, sarifText(runs), { flag: O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW })
    return { path: resolve(file), fault: '' }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const sentence = `\`${file}\` can't be written (${code ? systemReason(code) : message}): name a file in a folder that you may write to`
    return { path: '', fault: command('error', sentence, { title: 'Sallyport' }) }
  }
}

interface JobReport {
  readonly steps: readonly JobStep[]
  readonly report: string
  readonly project: string
}

async function comment(
  { steps, report, project }: JobReport,
  { pullRequest }: Occasion,
  env: Environment,
): Promise<Commented> {
  if (pullRequest === undefined) return NOT_NEEDED
  const place = placeOf(pullRequest, env)
  if ('why' in place) return { kind: 'refused', why: place.why }
  const marker = `<!-- sallyport-ci ${encodeURIComponent(project || '.')} -->`
  const isNews = steps.some(({ code, changes }) => code > 0 || changes)
  return putComment(place, { marker, body: report, isNews })
}

function placeOf(pullRequest: number, env: Environment): CommentPlace | { readonly why: string } {
  const { GITHUB_TOKEN: token, GITHUB_REPOSITORY: repository, GITHUB_API_URL: api = 'https://api.github.com' } = env
  if (!token) return { why: 'there is no GITHUB_TOKEN' }
  if (!repository || !/^[\w.-]+\/[\w.-]+$/.test(repository)) return { why: 'there is no GITHUB_REPOSITORY' }
  return { api, repository, pullRequest, token }
}

async function findApprovers({ pullRequest, author, head }: Occasion, env: Environment): Promise<Approvers> {
  if (pullRequest === undefined || author === undefined || head === undefined) {
    return { unknown: 'this is no pull request' }
  }
  const place = placeOf(pullRequest, env)
  return 'why' in place ? { unknown: place.why } : readReviews(place, { author, head })
}

function outputsOf(
  steps: readonly JobStep[],
  { code, sarif, commented }: { readonly code: StepCode; readonly sarif: string; readonly commented: Commented },
): Readonly<Record<string, string | number>> {
  const codes = Object.fromEntries(steps.map((step) => [`${step.name}-exit-code`, step.code]))
  const counts = Object.assign({}, ...steps.map(({ outputs }) => outputs))
  return { 'exit-code': code, ...codes, ...counts, comment: commented.kind, sarif }
}

/** The job doesn't fail for it: a token of a pull request from a fork may only read, and that is right. */
function remarkOn(commented: Commented): string {
  if (commented.kind !== 'refused') return ''
  return command(
    'notice',
    `the pull request has no new comment: ${commented.why}. The token may only read if the pull request is from a fork, ` +
      'or if the workflow lacks the permission `pull-requests: write`. The summary of the job has the report.',
  )
}

function verdict(steps: readonly JobStep[]): string {
  const failed = steps.filter((step) => step.code > 0).map(({ name, result }) => `${STEPS[name]}: ${result}`)
  return failed.length === 0 ? '' : command('error', failed.join('\n'), { title: 'Sallyport' })
}
