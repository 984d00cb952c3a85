/** The schemas that never change as the code that Ajv makes of them: a start loads it, in place of making it each time. */
import { readFileSync } from 'node:fs'
import { _ } from 'ajv'
import { Ajv2020, type Options } from 'ajv/dist/2020.js'
import ajvStandalone from 'ajv/dist/standalone/index.js'
import { fullFormats } from 'ajv-formats/dist/formats.js'

const SOURCE = new URL('../src/', import.meta.url)

const META = 'https://json-schema.org/draft/2020-12/schema'

const HEAD = `// What Ajv makes of schemas that never change: test/compiled-schemas.ts tells how, its test makes it anew.
// @ts-nocheck
import type { ValidateFunction } from 'ajv'
`

export interface Compiled {
  /** Where the code belongs. */
  readonly file: URL
  readonly code: string
}

export function compiledSchemas(): readonly Compiled[] {
  return [
    { file: new URL('policy/compiled-schemas.ts', SOURCE), code: policyFiles() },
    { file: new URL('resources/check/compiled-x-resource.ts', SOURCE), code: xResource() },
    { file: new URL('resources/check/compiled-meta-schema.ts', SOURCE), code: metaSchema() },
  ]
}

function policyFiles(): string {
  const names = ['limits', 'masks', 'ownership', 'roles', 'views']
  const ajv = createAjv({ strict: true, allowUnionTypes: true, verbose: true, validateSchema: false })
  for (const name of names) ajv.addSchema(read(`policy/schemas/${name}.schema.json`), name)
  return moduleOf(ajv, Object.fromEntries(names.map((name) => [name, name])))
}

function xResource(): string {
  const ajv = createAjv({ formats: { date: fullFormats.date }, validateSchema: false })
  ajv.addSchema(read('resources/schemas/x-resource.schema.json'), 'x-resource')
  return moduleOf(ajv, { fitsXResource: 'x-resource' })
}

/** The meta-schema states formats (`regex`, `uri-reference`) that later checks look into more closely. */
function metaSchema(): string {
  return moduleOf(createAjv({ validateFormats: false }), { fitsMetaSchema: META })
}

function createAjv(options: Options): Ajv2020 {
  const formats = _`require("ajv-formats/dist/formats.js").fullFormats`
  return new Ajv2020({ allErrors: true, ...options, code: { source: true, esm: true, formats } })
}

/** Ajv writes a module with `require`, without types and in one line. */
function moduleOf(ajv: Ajv2020, exported: Readonly<Record<string, string>>): string {
  const imported = new Map<string, string>()
  const body = ajvStandalone
    .default(ajv, { ...exported })
    .replace('"use strict";', '')
    .replace(/require\("([^"]+?)(?:\.js)?"\)/g, (_all, from: string) => {
      return imported.getOrInsertComputed(from, () => `imported${imported.size}`)
    })
    .replace(/export const \w+ = validate\d+/g, '$& as unknown as ValidateFunction')
    .replace(/;(?=function|export const|const (?:schema|func|pattern|formats)\d)/g, ';\n')
  const imports = [...imported].map(([from, name]) => `import ${name} from '${from}.js'\n`)
  return `${HEAD}${imports.join('')}${body}\n`
}

function read(file: string): object {
  return JSON.parse(readFileSync(new URL(file, SOURCE), 'utf8'))
}
