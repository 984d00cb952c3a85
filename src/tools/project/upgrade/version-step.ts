/** Versions as https://semver.org/spec/v2.0.0.html orders them, and what the step from one to another promises. */
import type { VersionStep } from './report.ts'

interface Version {
  readonly numbers: readonly [number, number, number]
  /** The identifiers of a pre-release; empty for a release. */
  readonly before: readonly string[]
}

const FORM = /^(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:-([0-9A-Za-z.-]{1,100}))?(?:\+[0-9A-Za-z.-]+)?$/

/** Undefined for what is no version. */
export function parseVersion(text: string): Version | undefined {
  const [, major, minor, patch, before] = FORM.exec(text) ?? []
  if (major === undefined) return undefined
  return { numbers: [Number(major), Number(minor), Number(patch)], before: before?.split('.') ?? [] }
}

/** Below 0 if `a` is the earlier version. */
export function compareVersions(a: Version, b: Version): number {
  const at = a.numbers.findIndex((number, i) => number !== b.numbers[i])
  if (at >= 0) return (a.numbers[at] ?? 0) - (b.numbers[at] ?? 0)
  if (a.before.length === 0 || b.before.length === 0) return b.before.length - a.before.length
  for (const [i, one] of a.before.entries()) {
    const other = b.before[i]
    if (other === undefined) return 1
    if (one !== other) return compareIdentifiers(one, other)
  }
  return a.before.length - b.before.length
}

/** Section 11.4: numbers below words, numbers by size, words by ASCII. */
function compareIdentifiers(a: string, b: string): number {
  const [isNumber, isOtherNumber] = [/^\d+$/.test(a), /^\d+$/.test(b)]
  if (isNumber && isOtherNumber) return Number(a) - Number(b)
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1
  return a < b ? -1 : 1
}

export function stepBetween(old: Version, young: Version): VersionStep {
  const order = compareVersions(old, young)
  if (order === 0) return 'same'
  if (order > 0) return 'earlier'
  const at = old.numbers.findIndex((number, i) => number !== young.numbers[i])
  // A pre-release promises nothing of the release that it leads to.
  if (at <= 0) return 'major'
  if (old.numbers[0] === 0) return at === 1 ? 'major' : 'minor'
  return at === 1 ? 'minor' : 'patch'
}

/** docs/stability.md says the same at length. */
export const PROMISES: Readonly<Record<VersionStep, string>> = {
  same: 'the version numbers are equal, so nothing should differ',
  patch: 'a patch fixes faults: what you rely on stays',
  minor: 'a minor version adds: what you rely on stays',
  major: 'a major version may change or remove what you rely on; below 1.0.0 the middle number is raised for it',
  earlier: 'the other version is newer: going back is promised only where the data allows it',
}
