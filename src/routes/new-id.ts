/** Ids of new objects: UUIDv7 (RFC 9562 section 5.7). The library is twenty files, so it is loaded with the first object. */
let makeId: (() => string) | undefined

export async function newId(): Promise<string> {
  makeId ??= (await import('uuid')).v7
  return makeId()
}
