/**
 * Suppressions: the comment `# check-ignore CODE: reason` directly above a line removes the warnings with that code
 * from the line. A suppression without effect or without a reason is a warning itself, and can't be suppressed.
 */

import type { Diagnostic, Place, SourceFile } from '../../base/diagnostic.ts'
import { FORMER_CODES } from '../../policy/former-words.ts'
import { warning } from './check.ts'

interface Suppression extends Place {
  readonly code: string
  readonly reason: string
  /** The last line that it is about: the first line below the comment that is not a comment. */
  readonly through: number
  /** No content is above the comment, so it is also about findings at the head of the file. */
  readonly leading: boolean
}

interface Suppressions {
  readonly suppressions: readonly Suppression[]
  readonly faults: readonly Diagnostic[]
}

/** `suppressible`: the codes that may be named. */
export function readSuppressions({ name, text }: SourceFile, suppressible: ReadonlySet<string>): Suppressions {
  const lines = text.split(/\r?\n/)
  const firstContent = lines.findIndex((line) => !isComment(line) && line.trim() !== '')
  const suppressions: Suppression[] = []
  const faults: Diagnostic[] = []
  for (const [index, line] of lines.entries()) {
    const written = /^\s*#\s*check-ignore(?![\w-])(.*)$/.exec(line)?.[1]
    if (written === undefined) continue
    const place = { file: name, line: index + 1, column: line.indexOf('#') + 1 }
    const { code: named, reason } = /^\s+(?<code>[^\s:]+)\s*:\s*(?<reason>\S.*)$/.exec(written)?.groups ?? {}
    const code = named && (FORMER_CODES.get(named) ?? named)
    if (!code || !reason) faults.push(malformed(place))
    else if (!suppressible.has(code)) faults.push(unknownCode(place, code))
    else {
      const leading = firstContent < 0 || index < firstContent
      suppressions.push({ ...place, code, reason: reason.trimEnd(), through: endOfBlock(lines, index) + 1, leading })
    }
  }
  return { suppressions, faults }
}

interface Applied {
  readonly kept: readonly Diagnostic[]
  /** How many findings were suppressed. */
  readonly suppressed: number
  readonly unused: readonly Suppression[]
}

export function applySuppressions(findings: readonly Diagnostic[], suppressions: readonly Suppression[]): Applied {
  const byCode = Map.groupBy(suppressions, ({ file, code }) => `${file}\0${code}`)
  const used = new Set<Suppression>()
  const kept = findings.filter((finding) => {
    if (finding.severity === 'error') return true
    const about = (byCode.get(`${finding.file}\0${finding.code}`) ?? []).filter((one) => isAbout(one, finding))
    for (const one of about) used.add(one)
    return about.length === 0
  })
  return {
    kept,
    suppressed: findings.length - kept.length,
    unused: suppressions.filter((one) => !used.has(one)),
  }
}

export function unusedSuppression(suppression: Suppression): Diagnostic {
  const message = `this suppresses nothing: the line below has no warning \`${suppression.code}\``
  return warning(suppression, 'suppression-unused', message, 'delete the comment')
}

function isAbout({ line, through, leading }: Suppression, finding: Diagnostic): boolean {
  return (finding.line > line && finding.line <= through) || (leading && finding.line === 1)
}

/** The index of the first line below a comment that is not a comment itself. A blank line is such a line too. */
function endOfBlock(lines: readonly string[], from: number): number {
  const end = lines.findIndex((line, index) => index > from && !isComment(line))
  return end < 0 ? lines.length : end
}

function isComment(line: string): boolean {
  return line.trimStart().startsWith('#')
}

function malformed(place: Place): Diagnostic {
  const message = 'a suppression needs a code and a reason'
  return warning(place, 'suppression-form', message, 'write: # check-ignore CODE: reason')
}

function unknownCode(place: Place, code: string): Diagnostic {
  const message = `\`${code}\` is not a warning that can be suppressed`
  return warning(
    place,
    'suppression-unknown-code',
    message,
    'write the code of a warning from docs/checks.md; errors can not be suppressed',
  )
}
