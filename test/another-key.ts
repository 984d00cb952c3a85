/** A key of the same form that nobody has: it is never the right one by chance. */
export function anotherKey(key: string): string {
  return `${key.slice(0, -1)}${key.endsWith('x') ? 'y' : 'x'}`
}
