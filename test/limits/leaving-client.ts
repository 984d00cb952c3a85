/** A process that uses a limiter and has nothing else to do. Started with the URL of Redis, and `close` or `leave`. */
import { createLimiter } from '../../src/limits/create-limiter.ts'
import { quotaFor } from './contract.ts'

if (process.send) {
  const [redisUrl, farewell] = process.argv.slice(2)
  const limiter = await createLimiter({ redisUrl, instances: 1, observe: () => {} })
  await limiter.admit([quotaFor({})])
  if (farewell === 'close') await limiter.close()
}
