/** Refuses files of a policy directory that no part of the policy is read from: `masks.yml` would hide nothing. */
import { join } from 'node:path'
import type { Diagnostic } from '../base/diagnostic.ts'
import { nearestName } from '../base/did-you-mean.ts'
import { strayFiles } from '../base/files/stray-files.ts'

/** Editors may be given the shapes of the files there. */
const SHAPES = /\.schema\.json$/

/** The names of the files in the directory itself that are none of `known`. */
export async function unknownFiles(directory: string, known: readonly string[]): Promise<readonly string[]> {
  return strayFiles(directory, (name) => known.includes(name) || SHAPES.test(name))
}

/** `present`: the files that the directory has, so that no advice overwrites one. */
export function unknownFileFault(
  directory: string,
  name: string,
  { known, present }: { readonly known: readonly string[]; readonly present: ReadonlySet<string> },
): Diagnostic {
  const meant = known.find((file) => stem(file) === stem(name)) ?? nearestName(name, known)
  return {
    file: join(directory, name),
    line: 1,
    column: 1,
    code: 'unknown-file',
    severity: 'error',
    message: `no policy has a file \`${name}\`, so nothing in it would be in force`,
    hint: adviceFor(meant, present, known),
  }
}

function adviceFor(meant: string | undefined, present: ReadonlySet<string>, known: readonly string[]): string {
  if (meant === undefined) return `move it out of the folder: the files of a policy are ${known.join(', ')}`
  if (present.has(meant)) return `write what it says into \`${meant}\`, or move it out of the folder`
  return `rename it to \`${meant}\`, or move it out of the folder`
}

/** `masks` of `Masks.yaml.txt`. */
function stem(name: string): string {
  return (name.split('.', 1)[0] ?? name).toLowerCase()
}
