/** A project as an editor shows it: the files on disk, and over them the texts that are open and maybe not saved. */
import { readdir } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { type Diagnostic, MOST_FAULTS } from '../base/diagnostic.ts'
import { isWithin, workTreeOf } from '../base/files/project-file.ts'
import { readInPlace } from '../policy/policy-files.ts'
import type { PolicyReading } from '../policy/policy-source.ts'
import { type ReadSchemas, readSchemas, resourcesIn } from '../resources/load/load-resources.ts'
import type { Resources } from '../resources/resource.ts'
import { refuseNoDirectory } from '../tools/load-policy.ts'
import { refuseLinksOut } from '../tools/project/ci/inside.ts'

/** As a user names them, from the folder of the project. */
export interface FoldersInEditor {
  readonly policies: string
  readonly schemas: string
  readonly matrices: string
}

/** By the absolute path of the file. */
export type OpenTexts = ReadonlyMap<string, string>

/** All files of one moment. */
export interface EditedFiles {
  readonly reading: PolicyReading
  readonly schemas: ReadSchemas
  /** At most MOST_FAULTS. */
  readonly schemaFaults: readonly Diagnostic[]
  /** Those of the last schemas without a fault; undefined if there were none yet. */
  readonly resources: Resources | undefined
  readonly open: OpenTexts
}

export class EditedProject {
  readonly folders: FoldersInEditor
  #schemas: ReadSchemas = { sources: [], faults: [] }
  #found: ReturnType<typeof resourcesIn> = { resources: undefined, faults: [] }
  #resources: Resources | undefined

  /** The folders are relative to the current folder, as in the messages of commands. */
  constructor(folders: FoldersInEditor) {
    this.folders = folders
  }

  /** Whether the project reads a file of this absolute path. */
  has(path: string): boolean {
    const { policies, schemas, matrices } = this.folders
    const folders = [policies, schemas, join(schemas, 'commands')]
    return folders.some((one) => dirname(path) === resolve(one)) || isWithin(path, resolve(matrices))
  }

  /** Throws ToolError for a folder that is missing, and for a link that leads out of the project. */
  async read(open: OpenTexts): Promise<EditedFiles> {
    const { policies, schemas, matrices } = this.folders
    await refuseNoDirectory(policies)
    await refuseNoDirectory(schemas, 'schema')
    await refuseLinks([policies, schemas, join(schemas, 'commands'), matrices, join(matrices, 'bodies')])
    const [reading, read] = await Promise.all([
      readInPlace(policies, textsIn(policies, open)),
      readSchemas(schemas, new Map([...textsIn(schemas, open), ...commandsIn(schemas, open)])),
    ])
    if (!isSame(this.#schemas, read)) {
      this.#schemas = read
      this.#found = resourcesIn(read)
      this.#resources = this.#found.resources ?? this.#resources
    }
    const schemaFaults = this.#found.faults.slice(0, MOST_FAULTS)
    return { reading, schemas: read, schemaFaults, resources: this.#resources, open }
  }
}

async function refuseLinks(folders: readonly string[]): Promise<void> {
  const top = (await workTreeOf(process.cwd())) ?? process.cwd()
  const names = folders.map(async (folder) => {
    const inside = await readdir(folder).catch(() => [])
    return [folder, ...inside.map((name) => join(folder, name))]
  })
  await refuseLinksOut(top, (await Promise.all(names)).flat())
}

function textsIn(folder: string, open: OpenTexts): ReadonlyMap<string, string> {
  const here = resolve(folder)
  return new Map([...open].flatMap(([path, text]) => (dirname(path) === here ? [[basename(path), text] as const] : [])))
}

function commandsIn(schemas: string, open: OpenTexts): readonly (readonly [string, string])[] {
  return [...textsIn(join(schemas, 'commands'), open)].map(([name, text]) => [`commands/${name}`, text])
}

/** Schemas take longest to make, and change least. */
function isSame(before: ReadSchemas, now: ReadSchemas): boolean {
  const keyOf = ({ sources, faults }: ReadSchemas) => [
    ...sources.flatMap(({ name, text }) => [name, text]),
    ...faults.map((one) => JSON.stringify(one)),
  ]
  const [one, other] = [keyOf(before), keyOf(now)]
  return one.length === other.length && one.every((text, i) => text === other[i])
}
