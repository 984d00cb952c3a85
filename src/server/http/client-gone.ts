/** Tells the work of a request that its client is gone, so that it ends soon. */
import type { ServerResponse } from 'node:http'
import { Problem } from '../../base/problems/problem.ts'

const signals = new WeakMap<ServerResponse, AbortSignal>()

/**
 * Aborts when the connection closes before the answer has ended; its reason is the Problem of such a request. Made when
 * it is first asked for, because most requests end before they would ask.
 */
export function clientGone(response: ServerResponse): AbortSignal {
  return signals.getOrInsertComputed(response, () => {
    const controller = new AbortController()
    const leave = () => {
      if (!response.writableEnded) controller.abort(gone())
    }
    // A large answer has listeners of its own, and all together are more than Node's ten.
    response.setMaxListeners(20)
    if (response.closed || response.destroyed) leave()
    else response.once('close', leave)
    return controller.signal
  })
}

/** Only the decision record tells it: nobody is there to read an answer. */
function gone(): Problem {
  return new Problem('malformed-request', 'The connection closed before the answer; send the request again.')
}
