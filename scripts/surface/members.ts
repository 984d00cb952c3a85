/**
 * The surface: everything that others rely on, as members with a name and a form. `OWNER requires NAME` is a member of
 * its own, so that what becomes required, or is no longer, can be told apart from what is removed.
 */

/** By name; the form is text that is compared, never read. */
export type Surface = Readonly<Record<string, string>>

export type Members = readonly (readonly [name: string, form: string])[]

export function surfaceOf(members: Members): Surface {
  const names = members.map(([name]) => name)
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice !== undefined) throw new Error(`two members have the name \`${twice}\``)
  return Object.fromEntries(members.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

export function requires(owner: string, name: string): readonly [string, string] {
  return [`${owner} requires ${name}`, '']
}
