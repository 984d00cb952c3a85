// Not a candidate: a thread that fails at the first record, for test/shadow/isolation.test.ts.
import { parentPort } from 'node:worker_threads'

parentPort?.on('message', () => {
  throw new Error('the candidate fails')
})
