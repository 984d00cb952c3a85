/** Paths that programs read in different ways, and an oracle of those that can be read in one way only. */

/** Parts of paths that programs read in different ways, and plain ones. */
export const PIECES = [
  '/7',
  '/o-1_a.b~c',
  '/caf%C3%A9',
  '/%41',
  "/a!$&'()*+,=:@",
  '?a=1;b=%2F..//',
  '/',
  '//7',
  '/.',
  '/..',
  '/../orders',
  '/%2e',
  '/%2E%2e/orders',
  '/.%2e/',
  '/x/../7',
  ';a=b',
  '/7;a',
  '%2F7',
  '/..%2f7',
  '\\7',
  '/..\\7',
  '%5C7',
  '/%255c',
  '/%252e%252e/',
  '%00',
  '/7%00',
  '/7%0a',
  '#7',
  '/7#?',
  '%237',
  '%3F7',
  '%3B7',
  '/\xe9',
  '/%ff',
  '/%C0%AE',
  '/%',
  '/7%EF%BC%8Fx',
  '/%EF%BC%8E%EF%BC%8E',
  '/%E2%81%84x',
  '/%E2%80%A4%E2%80%A4',
  '/%E2%80%A5',
  '/%EF%B8%B0/7',
  '/%E2%84%80',
  '/%CD%BE7',
  '/%C2%BD',
  '/7%E2%80%AE',
  '/%E3%83%8E',
  '/"7"',
  '/{7}',
  '/7|8',
  '/7^8',
] as const

/** Whether it is a path of `/api/orders` or `/api/orders/{id}` that can be read in one way only. */
export function isPlain(uri: string): boolean {
  const [, id, query = ''] = /^\/api\/orders(?:\/([\w.~!$&'()*+,=:@%-]+))?(?:\?(.*))?$/s.exec(uri) ?? ['', '.', '#']
  if (/[#\x80-\xff]/.test(query)) return false
  if (id === undefined) return true
  try {
    const text = decodeURIComponent(id)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
    const fault = /[/\\;?#%\0-\x1f\x7f\p{Bidi_Control}⁄∕∖⧸⧹﹒﹨％．／＼]|^\.\.?$/u
    const dots = (one: string) => one.split('.').length
    return !fault.test(text) && !fault.test(text.normalize('NFKC')) && dots(text) === dots(text.normalize('NFKC'))
  } catch {
    return false
  }
}
