/** JSON Pointers (RFC 6901) to paths and back. */
/** Object keys and array indexes from the root to a node. */
export type Path = readonly (string | number)[]

/** An index stays text, because an array accepts `'0'` like 0. */
export function pathOfPointer(pointer: string): readonly string[] {
  return pointer.split('/').slice(1).map(decodeToken)
}

export function pointerOfPath(path: Path): string {
  return path.map((part) => `/${encodeToken(String(part))}`).join('')
}

/** RFC 6901 section 4: `~1` before `~0`, so that `~01` is `~1`. */
function decodeToken(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~')
}

function encodeToken(token: string): string {
  return token.replaceAll('~', '~0').replaceAll('/', '~1')
}
