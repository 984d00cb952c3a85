/**
 * Sends so many requests a second, whether or not the earlier ones are answered, and prints its figures as JSON. The
 * argument: a PacedOrder (bench/machine/paced.ts) as JSON.
 */
import { Agent, request } from 'node:http'
import type { PacedOrder } from '../machine/paced.ts'

/** Far more than wait at a server that keeps up. */
const MOST_OPEN = 1000

const order: PacedOrder = JSON.parse(process.argv[2] ?? '')
const { base, method, paths, token, body, perSecond, seconds } = order
const agent = new Agent({ keepAlive: true, maxSockets: 64 })
const latencies: number[] = []
const errors: Record<string, number> = {}
let [sent, open] = [0, 0]
const began = performance.now()

const timer = setInterval(() => {
  const elapsed = (performance.now() - began) / 1000
  const due = Math.floor(Math.min(elapsed, seconds) * perSecond)
  while (sent < due && open < MOST_OPEN) send()
  if (elapsed >= seconds) clearInterval(timer)
  if (elapsed >= seconds && open === 0) tell()
}, 1)

function send(): void {
  sent += 1
  open += 1
  const at = performance.now()
  const text = body?.replaceAll('%d', String(sent))
  const headers = { authorization: `Bearer ${token}`, ...(text && { 'content-type': 'application/json' }) }
  const asked = request(`${base}${paths[sent % paths.length]}`, { method, agent, headers }, (answer) => {
    if ((answer.statusCode ?? 500) >= 400) failed(String(answer.statusCode))
    answer.resume().once('end', () => ended(at))
  })
  asked.once('error', (error: NodeJS.ErrnoException) => {
    failed(error.code ?? error.message)
    ended(at)
  })
  asked.end(text)
}

function failed(why: string): void {
  errors[why] = (errors[why] ?? 0) + 1
}

function ended(at: number): void {
  open -= 1
  latencies.push(performance.now() - at)
  if (open === 0 && (performance.now() - began) / 1000 >= seconds) tell()
}

function tell(): void {
  const sorted = latencies.toSorted((a, b) => a - b)
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0
  const figures = {
    requests: sorted.length,
    perSecond: sorted.length / seconds,
    p50: at(0.5),
    p99: at(0.99),
    longest: at(1),
  }
  process.stdout.write(JSON.stringify({ ...figures, errors }), () => process.exit(0))
}
