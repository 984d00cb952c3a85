// Not a candidate: a thread that takes 50 ms for each record, for test/shadow/isolation.test.ts.
import { parentPort } from 'node:worker_threads'
import type { ToCandidate } from '../../src/server/shadow/messages.ts'

parentPort?.on('message', (records: ToCandidate) => {
  for (const _ of records) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50)
  const counts = { compared: records.length, undecidable: 0, unready: 0, faults: 0 }
  parentPort?.postMessage({ kind: 'compared', records: records.length, ...counts, differences: [] })
})
