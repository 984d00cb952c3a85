/** Decides which URLs keys may come from: if anybody on the network path can replace keys, they are worthless. */

const THIS_MACHINE = ['localhost', '127.0.0.1', '[::1]']

/** Whether it is an https URL, or an http URL of this machine. */
export function isSafeForKeys(text: string): boolean {
  const url = URL.parse(text)
  return url?.protocol === 'https:' || (url?.protocol === 'http:' && THIS_MACHINE.includes(url.hostname))
}
