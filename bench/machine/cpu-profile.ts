/** A CPU profile of V8 (`node --cpu-prof`), told by the parts of the program that its samples fell into. */

interface ProfileNode {
  readonly id: number
  readonly callFrame: { readonly functionName: string; readonly url: string }
  readonly children?: readonly number[]
}

export interface CpuProfile {
  readonly nodes: readonly ProfileNode[]
  /** Ids of nodes, one a sample. */
  readonly samples: readonly number[]
  /** Microseconds from each sample to the one before. */
  readonly timeDeltas: readonly number[]
  /** Microseconds of the monotonic clock (`process.hrtime`). */
  readonly startTime: number
}

export interface Span {
  readonly from: number
  readonly to: number
}

const IDLE = '(idle)'

/** What V8 calls what isn't in a function. */
const SPECIAL: Readonly<Record<string, string>> = {
  [IDLE]: IDLE,
  '(garbage collector)': 'garbage collection',
  '(program)': 'outside of JavaScript (sockets, files)',
}

/** What moves requests and answers, whoever called it. */
const TRANSPORT = /^node:(_http|http|net|_stream|stream|events|timers|internal\/(http|net|streams|stream_base|timers))/

/** Stage -> its share of the time that wasn't idle, of the samples in the span; the shares are 1 in all. */
export function shareOfStages({ nodes, samples, timeDeltas, startTime }: CpuProfile, { from, to }: Span) {
  const stages = stagesOf(nodes)
  const spent = new Map<string, number>()
  let at = startTime
  for (const [i, id] of samples.entries()) {
    const delta = timeDeltas[i] ?? 0
    at += delta
    const stage = stages.get(id) ?? IDLE
    if (at >= from && at <= to && stage !== IDLE) spent.set(stage, (spent.get(stage) ?? 0) + delta)
  }
  const all = [...spent.values()].reduce((sum, micros) => sum + micros, 0)
  return new Map([...spent].map(([stage, micros]) => [stage, micros / all]))
}

/** A function that belongs to no stage (a built-in) counts for its caller. */
function stagesOf(nodes: readonly ProfileNode[]): ReadonlyMap<number, string> {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const stages = new Map<number, string>()
  const visit = (node: ProfileNode, caller: string) => {
    const stage = stageOf(node) ?? caller
    stages.set(node.id, stage)
    for (const child of node.children ?? []) {
      const found = byId.get(child)
      if (found) visit(found, stage)
    }
  }
  const [root] = nodes
  if (root) visit(root, 'the runtime')
  return stages
}

function stageOf({ callFrame: { functionName, url } }: ProfileNode): string | undefined {
  const special = SPECIAL[functionName]
  if (special !== undefined && url === '') return special
  if (TRANSPORT.test(url)) return 'node:http and streams'
  const library = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*\/node_modules\/)/.exec(url)?.[1]
  return library ?? /\/src\/((?:server\/[^/]+\/)?[^/]+)/.exec(url)?.[1]?.replace(/\.ts$/, '')
}
