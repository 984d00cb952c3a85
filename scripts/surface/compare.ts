/** What became of the surface, as steps of Semantic Versioning: docs/stability.md says what is promised. */
import type { Surface } from './members.ts'

const ACCEPT = 'npm run surface'

export interface SurfaceChange {
  readonly member: string
  readonly kind: 'gone' | 'changed' | 'new'
  readonly step: 'major' | 'minor'
  /** One sentence: what happened, which step it is, and what accepts it. */
  readonly sentence: string
}

export function compareSurfaces(before: Surface, after: Surface): readonly SurfaceChange[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted()
  return names.flatMap((member) => {
    const [old, young] = [before[member], after[member]]
    if (old === young) return []
    const kind = young === undefined ? 'gone' : old === undefined ? 'new' : 'changed'
    const step = stepOf(member, kind, before)
    return [{ member, kind, step, sentence: sentenceOf(member, kind, step, { old, young }) }]
  })
}

const REQUIRES = / requires /
/** What the program gives: more that is always there is no harm. */
const GIVEN = /^(?:json |http \S+ \S+ answers )/
/** What goes up with a version that still reads the earlier one. */
const RISING = /^layout /

function stepOf(member: string, kind: SurfaceChange['kind'], before: Surface): SurfaceChange['step'] {
  if (RISING.test(member)) return kind === 'gone' ? 'major' : 'minor'
  const [owner = ''] = member.split(REQUIRES)
  if (owner === member) return kind === 'new' ? 'minor' : 'major'
  // Shapes that are both taken and given break either way.
  if (member.startsWith('http schema ')) return kind === 'new' && !(owner in before) ? 'minor' : 'major'
  if (GIVEN.test(member)) return kind === 'gone' ? 'major' : 'minor'
  return kind === 'new' && owner in before ? 'major' : 'minor'
}

const HAPPENED = { gone: 'is gone', changed: 'has another form', new: 'is new' } as const

function sentenceOf(
  member: string,
  kind: SurfaceChange['kind'],
  step: SurfaceChange['step'],
  { old = '', young = '' }: { readonly old: string | undefined; readonly young: string | undefined },
): string {
  const forms = kind === 'changed' ? ` (\`${old}\` -> \`${young}\`)` : ''
  const line = kind === 'gone' ? ` and a line in CHANGELOG.md that names \`${lastWord(member)}\`` : ''
  const below = step === 'major' ? ', below 1.0.0 the middle number' : ''
  return `\`${member}\` ${HAPPENED[kind]}${forms}: a ${step} change${below}; accept it with \`${ACCEPT}\`${line}, or take it back`
}

/** What people would call the member. */
export function lastWord(member: string): string {
  return member.split(/[ .#]/).at(-1)?.replaceAll(/^<|>$/g, '') ?? member
}

/** Members that went since the last release, and that the newest section of CHANGELOG.md doesn't name. */
export function unmentioned(gone: readonly string[], changelog: string): readonly string[] {
  const [, newest = ''] = changelog.split(/^## /m)
  return gone.filter((member) => !newest.includes(lastWord(member)))
}
