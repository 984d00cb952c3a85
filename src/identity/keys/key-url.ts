/** Where keys may come from: keys that anybody on the way can replace are no keys. */

const THIS_MACHINE = ['localhost', '127.0.0.1', '[::1]']

/** Whether it is an https URL, or an http one of this machine. */
export function isSafeForKeys(text: string): boolean {
  const url = URL.parse(text)
  return url?.protocol === 'https:' || (url?.protocol === 'http:' && THIS_MACHINE.includes(url.hostname))
}
