/**
 * The URI of a forwarded request. It is refused, never normalised, if two programs could read different paths in it:
 * the path that was decided must be the path that the application gets.
 */
import { Problem } from '../../../base/problems/problem.ts'
import { readTarget, type Target } from '../../../resources/routing/request-target.ts'

/** RFC 3986 section 3.3, without `;`: some servers cut a segment there. */
const PATH = /^(?:[\w.~!$&'()*+,=:@/-]|%[\dA-Fa-f]{2})+$/

/** What decoding must not bring forth: delimiters, a second layer of encoding, and control characters. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const HIDDEN = /[/\\;?#%\0-\x1f\x7f-\x9f]/

/** What NFKC makes of some characters: `‥` becomes `..`, and `℀` becomes `a/c`. ASCII stays as it is. */
const DELIMITER = /[./\\;?#%]/

/** Some servers take these for a slash, a backslash, a dot or a percent sign (best fit); the last turn texts around. */
const LOOKS_ALIKE = /[\u2044\u2215\u2216\u29f8\u29f9\ufe52\ufe68\uff05\uff0e\uff0f\uff3c\p{Bidi_Control}]/u

/** The first two say what is refused for the rest of the URI too. */
export function readForwardedUri(uri: string): Target | Problem {
  if (!/^[\x21-\x7e]*$/.test(uri)) return refused('has characters that a URI must percent-encode')
  if (uri.includes('#')) return refused('has a `#`')
  const target = readTarget(uri)
  if (target instanceof Problem) return target
  if (!uri.startsWith('/')) return refused('does not begin with `/`')
  const fault = faultOfPath(target.path)
  return fault === undefined ? target : refused(fault)
}

function faultOfPath(path: string): string | undefined {
  if (path.includes('//')) return 'has an empty segment (`//`)'
  if (!PATH.test(path)) return 'has a character that servers read differently, such as `;` or a backslash'
  const segments = path.split('/').map((segment) => decodeURIComponent(segment))
  if (segments.some((segment) => HIDDEN.test(segment))) return 'has an encoded delimiter, `%25` or a control character'
  if (segments.some(hasLookAlike)) return 'has a character that looks like a delimiter'
  return segments.some((segment) => segment === '.' || segment === '..') ? 'has a dot segment' : undefined
}

/** A program that normalises text (NFKC) after it has split the path would find delimiters there. */
function hasLookAlike(segment: string): boolean {
  const others = segment.replace(/[\0-\x7f]+/g, '').normalize('NFKC')
  return LOOKS_ALIKE.test(others) || DELIMITER.test(others)
}

function refused(fault: string): Problem {
  return new Problem('invalid-path', `The forwarded URI ${fault}; request the plain path.`)
}
