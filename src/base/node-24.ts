/**
 * What Node 24 lacks: `getOrInsertComputed` of maps (ECMAScript 2026). The process and each thread import this file
 * first. Delete it when Node 24 is no longer supported.
 */

function getOrInsertComputed<K, V>(this: Map<K, V>, key: K, make: (key: K) => V): V {
  const found = this.get(key)
  if (found !== undefined || this.has(key)) return found as V
  const made = make(key)
  this.set(key, made)
  return made
}

for (const { prototype } of [Map, WeakMap]) {
  if (!('getOrInsertComputed' in prototype)) {
    Object.defineProperty(prototype, 'getOrInsertComputed', {
      value: getOrInsertComputed,
      writable: true,
      configurable: true,
    })
  }
}
