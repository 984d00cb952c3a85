/** JSON that each reader understands alike: no object of it has two members of one name. */

/** Throws SyntaxError. */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text)
  if (namesIn(text) !== membersOf(value)) throw new SyntaxError('a name is given twice')
  return value
}

/** `text` is JSON, so that each colon outside its strings follows a name. */
function namesIn(text: string): number {
  const outside = text.replaceAll(/\\./g, '').replaceAll(/"[^"]*"/g, '')
  return outside.split(':').length - 1
}

/** Of all objects within; of two with one name, JSON.parse keeps the last. */
function membersOf(value: unknown): number {
  let members = 0
  const open: unknown[] = [value]
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    if (typeof one !== 'object' || one === null) continue
    const inner = Object.values(one)
    if (!Array.isArray(one)) members += inner.length
    for (const each of inner) open.push(each)
  }
  return members
}
