/** In the window that an OpenID provider leads back to: hands what it said to the page that waits for it, and closes. */
import { SIGNED_IN } from '../pages.ts'

/** Only windows of this origin hear it. */
export const CHANNEL = 'sallyport-signed-in'

export function isSignedInWindow(): boolean {
  return location.pathname === SIGNED_IN
}

export function handOver(): void {
  const channel = new BroadcastChannel(CHANNEL)
  channel.postMessage(location.search)
  channel.close()
  // The code is worth nothing any more, and stays in no history.
  history.replaceState(null, '', SIGNED_IN)
  window.close()
}
