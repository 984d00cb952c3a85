/** What an operator sees of a fault: answers, readiness and the log, each kind once. docs/instances.md quotes it. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Operation } from './ask.ts'
import type { Cluster, LogLine } from './cluster.ts'

const EVERY_MS = 250
/** Warnings and worse. */
const LEAST_LEVEL = 40

export function observe(cluster: Cluster) {
  const readiness: string[] = []
  let running = true
  const watches = cluster.instances.map(async ({ url }) => {
    for (; running; await sleep(EVERY_MS)) readiness.push(await askReadiness(url))
  })
  return {
    /** A line for each kind, with its number. */
    end: async (operations: readonly Operation[]): Promise<readonly string[]> => {
      running = false
      await Promise.all(watches)
      const answers = operations.filter(({ status }) => status === 0 || status >= 500)
      return [
        ...counted(answers.map(({ status, code }) => (status === 0 ? 'no answer' : `answer ${status} ${code}`))),
        ...counted(readiness),
        ...counted(messages(cluster)),
      ]
    },
  }
}

async function askReadiness(url: string): Promise<string> {
  try {
    const answer = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2000) })
    const text = (await answer.text()).replaceAll(/"instance":"[^"]*",?/g, '')
    return `readyz ${answer.status} ${text}`
  } catch (error) {
    return `readyz without an answer (${(error as Error).name})`
  }
}

function messages({ instances }: Cluster): readonly string[] {
  const lines = instances.flatMap(({ log }) => log.map(({ line }) => line))
  return lines.filter(isLoud).map(textOf)
}

function isLoud({ level = LEAST_LEVEL }: LogLine['line']): boolean {
  return level === 'warn' || level === 'error' || level === 'fatal' || Number(level) >= LEAST_LEVEL
}

function textOf({ msg, problem, err }: LogLine['line']): string {
  const { message } = (err ?? {}) as { readonly message?: string }
  return `log: ${[msg, problem, message].filter((part) => part !== undefined).join(': ')}`
}

function counted(lines: readonly string[]): readonly string[] {
  return [...Map.groupBy(lines, (line) => line)].map(([line, same]) => `${same.length} x ${line}`)
}
