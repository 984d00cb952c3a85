/** New decision records while a page looks at them: server-sent events, read from an answer since they need a token. */
import { useEffect, useState } from 'preact/hooks'
import { askFor, growingPause } from './ask.ts'
import type { DecisionRecord } from './types.ts'

/** The server ends a stream so that the gate decides again. */
const SECONDS = 60
/** Older ones are a search. */
const MOST_KEPT = 10_000
/** Records that come together are shown together. */
const SHOW_MS = 200
/** A stream that ends sooner and gave nothing was ended by something in between, such as a proxy. */
const AT_ONCE_MS = 1000

/** The newest last. `filter`: undefined follows nothing. */
export function useFollowed(filter: object | undefined): readonly DecisionRecord[] {
  const [records, setRecords] = useState<readonly DecisionRecord[]>([])
  const key = JSON.stringify(filter)
  useEffect(() => {
    setRecords([])
    if (key === undefined) return
    const leaving = new AbortController()
    let waiting: DecisionRecord[] = []
    const timer = setInterval(() => {
      if (waiting.length === 0) return
      const come = waiting
      waiting = []
      setRecords((before) => [...before, ...come].slice(-MOST_KEPT))
    }, SHOW_MS)
    // What was refused is told by the search beside it.
    follow(JSON.parse(key), (record) => waiting.push(record), leaving.signal).catch(() => undefined)
    return () => {
      clearInterval(timer)
      leaving.abort()
    }
  }, [key])
  return records
}

async function follow(filter: object, take: (record: DecisionRecord) => void, signal: AbortSignal): Promise<never> {
  let after: string | undefined
  let pause = growingPause()
  for (;;) {
    const before = after
    const body = { ...filter, seconds: SECONDS, ...(after !== undefined && { after }) }
    const answer = await askFor('/policy/v1/follow', body, signal)
    const began = performance.now()
    try {
      for await (const record of recordsIn(answer)) {
        after = record.requestId
        take(record)
      }
    } catch {
      // The connection broke: the next stream begins where this one ended.
      signal.throwIfAborted()
    }
    if (after === before && performance.now() - began < AT_ONCE_MS) await pause()
    else pause = growingPause()
  }
}

async function* recordsIn({ body }: Response): AsyncGenerator<DecisionRecord> {
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  for (;;) {
    const { value, done } = (await reader?.read()) ?? { value: undefined, done: true }
    if (done) return
    const events = (text + value).split('\n\n')
    text = events.pop() ?? ''
    for (const event of events) {
      const [, data] = /^event: decision\ndata: (.*)$/m.exec(event) ?? []
      if (data !== undefined) yield JSON.parse(data)
    }
  }
}
