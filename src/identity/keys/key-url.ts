/** Decides which URLs keys may come from: if anybody on the network path can replace keys, they are worthless. */

const THIS_MACHINE = ['localhost', '127.0.0.1', '[::1]']

/** The error of `fetch` for such a URL would repeat the password in logs. */
export function hasCredentials(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && (url.username !== '' || url.password !== '')
}

/** Whether it is an https URL, or an http URL of this machine. */
export function isSafeForKeys(text: string): boolean {
  const url = URL.parse(text)
  return url?.protocol === 'https:' || (url?.protocol === 'http:' && THIS_MACHINE.includes(url.hostname))
}
