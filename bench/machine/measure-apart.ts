/** Runs one of the bench's measuring programs in a process of its own, where servers run, and reads what it found. */
import { text } from 'node:stream/consumers'
import { BenchFailure } from '../failure.ts'
import { start } from './processes.ts'

/** `settings` go there, and what comes back is JSON. Throws BenchFailure. */
export async function measureApart<T>(program: string, settings: object): Promise<T> {
  const running = start([process.execPath, program, JSON.stringify(settings)], { cpu: 'server', piped: true })
  const output = running.child.stdout ? await text(running.child.stdout) : ''
  const complaint = running.complaint()
  await running.stop()
  if (running.exitCode() !== 0) throw new BenchFailure(`\`${program}\` failed: ${complaint}`)
  return JSON.parse(output)
}
