/** Reads the YAML files of cases. Strict: reports all faults at once, each with its place. */
import { readFileSync } from 'node:fs'
import { type Diagnostic, type Place, refuseFaults } from '../../../base/diagnostic.ts'
import { shapeOf } from '../../../base/shape-of.ts'
import { parseYaml, type Shape, type YamlFile } from '../../../base/yaml-file.ts'
import type { Json, Method } from '../../../resources/resource.ts'
import type { KnownColumn } from './expectation.ts'
import { readSource } from './read-matrices.ts'
import { parseColumn } from './words.ts'

interface Written {
  readonly name: string
  readonly callers?: Readonly<Record<string, string>>
  readonly steps: readonly Step[]
}

/** Compiled when the first case is read. */
let shape: Shape<readonly Written[]> | undefined

/** In the order of files. Throws FileError. */
export async function readCases(files: readonly string[]): Promise<readonly Case[]> {
  return refuseFaults(async (report) => {
    const sources = await Promise.all(files.map((file) => readSource(file, report)))
    return sources.flatMap((source) => {
      const parsed = source && parseYaml(source, caseShape(), report)
      return parsed ? parsed.value.map((written, i) => caseOf(parsed, written, i, report)) : []
    })
  })
}

// docs/ is beside src/ in a checkout, and beside dist/ in the package.
function caseShape(): Shape<readonly Written[]> {
  const file = new URL('../../../../docs/schemas/matrix-case.schema.json', import.meta.url)
  shape ??= shapeOf<readonly Written[]>(JSON.parse(readFileSync(file, 'utf8')))
  return shape
}

function caseOf(
  file: YamlFile<readonly Written[]>,
  { name, callers = {}, steps }: Written,
  at: number,
  report: (diagnostic: Diagnostic) => void,
): Case {
  const known = Object.entries(callers).flatMap(([caller, text]): [string, KnownColumn][] => {
    const column = parseColumn(text)
    if (column.kind === 'parsed' && column.value.kind !== 'anonymous') return [[caller, column.value]]
    const hint = 'write a role, roles as in member+auditor, everyone, or user:<id>'
    report(file.fault([at, 'callers', caller], 'case-caller', `\`${text}\` is not a caller with credentials`, hint))
    return []
  })
  steps.forEach((step, i) => {
    if (step.as === 'anonymous' || Object.hasOwn(callers, step.as)) return
    const hint = 'name it in callers, or write anonymous'
    report(file.fault([at, 'steps', i, 'as'], 'case-caller', `the case has no caller \`${step.as}\``, hint))
  })
  const { file: path, line, column } = file.fault([at, 'name'], '', '')
  return { name, place: { file: path, line, column }, callers: new Map(known), steps }
}

export interface StepExpected {
  readonly status: number
  readonly view?: string
  readonly fields?: readonly string[]
  /** The ids of the objects in a list; of those that steps of the case created, it has no others. */
  readonly rows?: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
}

export interface Step {
  /** A name of the case's callers, or `anonymous`. */
  readonly as: string
  readonly method: Method
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Json
  readonly expect: StepExpected
  /** JSON Pointers (RFC 6901) into the answer, by the name that later steps use. */
  readonly save?: Readonly<Record<string, string>>
}

export interface Case {
  readonly name: string
  readonly place: Place
  readonly callers: ReadonlyMap<string, KnownColumn>
  readonly steps: readonly Step[]
}
