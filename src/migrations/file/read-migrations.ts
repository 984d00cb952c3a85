/** Reads the folder of migrations. The only code of this room that touches the disk. */

import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { migration } from '#compiled/migration-files'
import { type Diagnostic, type Reporter, refuseFaults, type SourceFile } from '../../base/diagnostic.ts'
import { readProjectFile } from '../../base/files/project-file.ts'
import { parseYaml, shapeBy } from '../../base/yaml-file.ts'
import type { Migration, MigrationStep } from '../steps/step.ts'

const NAME = /^(?<number>\d{4})-[a-z0-9][a-z0-9-]*\.yaml$/

/** In the order of their numbers; none if there is no such folder. Throws FileError with all faults of all files. */
export async function readMigrations(folder: string): Promise<readonly ParsedMigration[]> {
  const names = await namesIn(folder)
  return refuseFaults(async (report) => {
    const numbered = names.filter((name, at) => {
      const fault = nameFault(folder, name, names[at - 1])
      if (fault) report(fault)
      return fault === undefined
    })
    const read = await Promise.all(numbered.map((name) => readOne(join(folder, name), name, report)))
    return read.filter((migration) => migration !== undefined)
  })
}

/** Other files, such as a README, may stand beside migrations. */
async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).filter((name) => /\.ya?ml$/.test(name)).sort()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

async function readOne(file: string, name: string, report: Reporter): Promise<ParsedMigration | undefined> {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(await readProjectFile(file, dirname(file)))
    return parseMigration({ name: file, text }, name.slice(0, -'.yaml'.length), report)
  } catch {
    report(faultOf(file, 'migration-unreadable', 'the file cannot be read as UTF-8 text'))
    return undefined
  }
}

/** `before`: the name that sorts before this one. */
function nameFault(folder: string, name: string, before = ''): Diagnostic | undefined {
  const file = join(folder, name)
  const number = NAME.exec(name)?.groups?.number
  if (number === undefined) {
    const message = "the file's name is not that of a migration: call it like `0001-rename-note.yaml`"
    return faultOf(file, 'migration-name', message)
  }
  if (NAME.exec(before)?.groups?.number !== number) return undefined
  return faultOf(file, 'migration-number', `\`${before}\` has the same number: give this file the next one`)
}

function faultOf(file: string, code: string, message: string): Diagnostic {
  return { file, line: 1, column: 1, code, severity: 'error', message }
}

interface MigrationFile {
  readonly description?: string
  readonly resources: Readonly<Record<string, readonly MigrationStep[]>>
}

const shape = shapeBy<MigrationFile>(migration)

export interface ParsedMigration extends Migration {
  /** A diagnostic about one resource of the file. */
  readonly faultOf: (resource: string, code: string, message: string, hint?: string) => Diagnostic
  /** A diagnostic about the whole file. */
  readonly fault: (code: string, message: string, hint?: string) => Diagnostic
}

/** `name`: the file's name without its folder and ending. Reports faults, and then returns nothing. */
export function parseMigration(
  source: SourceFile,
  name: string,
  report: (fault: Diagnostic) => void,
): ParsedMigration | undefined {
  const file = parseYaml(source, shape, report)
  if (!file) return undefined
  const { description, resources } = file.value
  return {
    number: Number(name.slice(0, 4)),
    name,
    digest: createHash('sha256').update(JSON.stringify(resources)).digest('hex'),
    description,
    steps: new Map(Object.entries(resources)),
    faultOf: (resource, ...rest) => file.fault(['resources', resource], ...rest),
    fault: (...rest) => file.fault([], ...rest),
  }
}
