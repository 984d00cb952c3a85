/** The parts of docs/performance.md and of the page beside its plots that a run says: between marks, so that what people wrote around them stays. */
import { wrap } from '../../src/present/text.ts'
import { BenchFailure } from '../failure.ts'
import { plotsOf } from './plots.ts'
import type { PartResult, RunResult } from './result.ts'
import { judge } from './statistics.ts'
import { NOT_MEASURED, summaryText } from './summary.ts'
import { measuredText, targetsTable } from './table.ts'

/** Load averages above say that somebody else was at work. */
const QUIET = 1

/** The page with the results in it. A part that the run doesn't have is not measured yet. */
export function fillPage(page: string, run: RunResult): string {
  const filled = page.replace(/(<!-- bench: ([a-z-]+) -->\n)[\s\S]*?(<!-- end -->)/g, (_, begin, name, end) => {
    return `${begin}${folded(textOf(name, run))}\n${end}`
  })
  if (filled === page && !page.includes('<!-- bench: ')) throw new BenchFailure('the page has no marks for results')
  return filled
}

/** The most columns of a line of prose in pages (test/docs.test.ts). */
const PROSE_WIDTH = 120

/** Prose in lines that fit; tables, images and commands as they are. */
function folded(text: string): string {
  const lines = text.split('\n')
  return lines.flatMap((line) => (/^(?:\||!| {4})/.test(line) ? [line] : wrap(line, '', PROSE_WIDTH))).join('\n')
}

function textOf(name: string, run: RunResult): string {
  if (name === 'run') return runText(run)
  if (name === 'summary') return summaryText(run)
  if (name === 'targets') return targetsText(run)
  const part = run.parts.find(({ id }) => id === name)
  return part ? sectionText(part) : NOT_MEASURED
}

function targetsText({ parts }: RunResult): string {
  const all = parts.flatMap(({ title, targets }) => targets.map((one) => ({ ...one, what: `${title}: ${one.what}` })))
  if (all.length === 0) return NOT_MEASURED
  const met = all.filter((target) => judge(target).met).length
  return [`${met} of ${all.length} targets are met, and ${all.length - met} are missed.`, targetsTable(all)].join(
    '\n\n',
  )
}

function sectionText(part: PartResult): string {
  const plots = plotsOf(part).map(({ name, title }) => `![${title}](${name}.svg)`)
  const { began, revision } = part.run ?? {}
  const other = began ? [`From another run: commit ${revision}, ${minuteOf(began)}.`] : []
  return [part.method, ...other, ...plots, measuredText(part)].join('\n\n')
}

function minuteOf(time: string): string {
  return `${time.slice(0, 16).replace('T', ' ')} UTC`
}

function runText({ command, began, seconds, revision, node, machine, settings, peers }: RunResult): string {
  const { system, cpu, cpus, memoryGiB, pinned, loadBefore } = machine
  const unquiet =
    loadBefore > QUIET ? ['', `**The machine was busy before the run**: trust the spreads more than the medians.`] : []
  const lines = [
    `    ${command}`,
    '',
    `Commit ${revision}, Node ${node}, ${system}, ${cpus} x ${cpu}, ${memoryGiB} GiB, ${minuteOf(began)}, ${seconds} s in all.`,
    `${settings.rounds} rounds of ${settings.seconds} s each; ${pinned ? 'servers on CPU 0, load and Redis on CPU 1' : 'servers and load share the CPUs'}. Load average before: ${loadBefore.toFixed(2)}.`,
    ...peersText(peers),
    ...unquiet,
  ]
  return lines.join('\n')
}

function peersText(peers: RunResult['peers']): readonly string[] {
  if (!peers) return []
  const packages = Object.entries(peers).map(([name, version]) => `${name} ${version}`)
  return ['', `Packages of the peers: ${packages.join(', ')}.`]
}
