/**
 * What Node 24 lacks: `getOrInsert` and `getOrInsertComputed` of maps (ECMAScript 2026). The process and each thread import this file
 * first. Delete it when Node 24 is no longer supported.
 */

function getOrInsertComputed<K, V>(this: Map<K, V>, key: K, make: (key: K) => V): V {
  const found = this.get(key)
  if (found !== undefined || this.has(key)) return found as V
  const made = make(key)
  this.set(key, made)
  return made
}

function getOrInsert<K, V>(this: Map<K, V>, key: K, value: V): V {
  return getOrInsertComputed.call(this as Map<unknown, unknown>, key, () => value) as V
}

for (const { prototype } of [Map, WeakMap]) {
  for (const value of [getOrInsert, getOrInsertComputed]) {
    if (value.name in prototype) continue
    Object.defineProperty(prototype, value.name, { value, writable: true, configurable: true })
  }
}
