/** Puts load on a server with wrk (a closed loop: each connection asks again when it is answered) and reads its figures. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { BenchFailure } from '../failure.ts'
import { start } from './processes.ts'
import { need } from './programs.ts'
import { removeScratch, scratchFolder } from './scratch.ts'

const SCRIPT = new URL('../load/requests.lua', import.meta.url).pathname

const LONGEST_SECONDS = 20

export interface Requests {
  readonly method: string
  /** Asked for in turn. */
  readonly paths: readonly string[]
  readonly token: string
  /** In place of `token`: one for each path. */
  readonly tokens?: readonly string[]
  /** JSON; `%d` in it is another number in each request. */
  readonly body?: string
  /** In place of `body`: JSON without line breaks, sent in turn to the first path. */
  readonly bodies?: readonly string[]
  readonly connections: number
}

export interface LoadFigures {
  readonly requests: number
  readonly perSecond: number
  /** Milliseconds from request to answer. */
  readonly p50: number
  readonly p99: number
  readonly longest: number
}

const NOTHING: LoadFigures = { requests: 0, perSecond: 0, p50: 0, p99: 0, longest: 0 }

/** Throws BenchFailure when an answer was an error, because then something else was measured. */
export async function load(base: string, requests: Requests, seconds: number): Promise<LoadFigures> {
  need('wrk')
  const folder = scratchFolder()
  try {
    const paths = join(folder, 'paths')
    await writeFile(paths, `${requests.paths.join('\n')}\n`)
    const bodies = requests.bodies && join(folder, 'bodies')
    if (requests.bodies && bodies) await writeFile(bodies, `${requests.bodies.join('\n')}\n`)
    const tokens = requests.tokens && join(folder, 'tokens')
    if (requests.tokens && tokens) await writeFile(tokens, `${requests.tokens.join('\n')}\n`)
    const files = { paths, ...(bodies === undefined ? {} : { bodies }), ...(tokens === undefined ? {} : { tokens }) }
    let figures = await runWrk(base, requests, { ...files, seconds })
    // A slow disk may take longer than a short trial.
    for (let longer = 2 * seconds; figures.requests === 0 && longer < LONGEST_SECONDS; longer *= 2) {
      figures = await runWrk(base, requests, { ...files, seconds: longer })
    }
    if (figures.requests === 0) throw new BenchFailure('nothing was answered')
    return figures
  } finally {
    removeScratch(folder)
  }
}

interface Files {
  readonly paths: string
  readonly bodies?: string
  readonly tokens?: string
}

async function runWrk(
  base: string,
  { method, token, body, connections }: Requests,
  { paths, bodies, tokens, seconds }: Files & { readonly seconds: number },
): Promise<LoadFigures> {
  // It knows whole seconds only, but tells of the time that it had when it is interrupted.
  const whole = Math.ceil(seconds)
  const wrk = start(['wrk', '-t1', `-c${connections}`, `-d${whole}s`, '--timeout', '10s', '-s', SCRIPT, base], {
    cpu: 'load',
    piped: true,
    environment: {
      BENCH_METHOD: method,
      BENCH_PATHS: paths,
      BENCH_TOKEN: token,
      ...(body === undefined ? {} : { BENCH_BODY: body }),
      ...(bodies === undefined ? {} : { BENCH_BODIES: bodies }),
      ...(tokens === undefined ? {} : { BENCH_TOKENS: tokens }),
    },
  })
  if (seconds < whole) setTimeout(() => wrk.child.kill('SIGINT'), seconds * 1000)
  const output = wrk.child.stdout ? await text(wrk.child.stdout) : ''
  const complaint = wrk.complaint()
  await wrk.stop()
  // A busy machine may take longer to start it than a short trial lasts: it ends before it can tell of anything.
  if (seconds < whole && output === '' && complaint === '') return NOTHING
  return readFigures(output, complaint)
}

/** wrk writes requests, then microseconds. */
export function readFigures(output: string, complaint: string): LoadFigures {
  const figures = /^RESULT (.+)$/m.exec(output)?.[1]?.split(' ').map(Number)
  if (!figures) throw new BenchFailure(`wrk ended without figures: ${complaint || output}`)
  const [requests = 0, micros = 1, p50 = 0, p99 = 0, longest = 0, errors = 0] = figures
  if (errors > 0) throw new BenchFailure(`${errors} of ${requests} answers were errors`)
  return { requests, perSecond: (requests / micros) * 1e6, p50: p50 / 1000, p99: p99 / 1000, longest: longest / 1000 }
}
