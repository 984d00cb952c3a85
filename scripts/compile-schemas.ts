/**
 * Writes dist/compiled/: the schemas that never change, as the code that Ajv makes of them. A start loads the code, in place of
 * making it each time. Runs with `npm ci` and before a build; src/ imports the result as `#compiled/…`.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { _ } from 'ajv'
import { Ajv2020, type Options } from 'ajv/dist/2020.js'
import ajvStandalone from 'ajv/dist/standalone/index.js'
import { fullFormats } from 'ajv-formats/dist/formats.js'

const SOURCE = new URL('../src/', import.meta.url)
const TARGET = new URL('../dist/compiled/', import.meta.url)

const META = 'https://json-schema.org/draft/2020-12/schema'

interface CompiledFile {
  readonly file: URL
  readonly text: string
}

/** Each module with its types. */
export function compiledSchemas(): readonly CompiledFile[] {
  return [
    ...filesOf('policy-files', policyFiles()),
    ...filesOf('migration-files', migrationFiles()),
    ...filesOf('backup-manifest', manifestIn('tools/backup/archive/schemas/manifest.schema.json')),
    ...filesOf('evidence-manifest', manifestIn('tools/evidence/schemas/evidence.schema.json')),
    ...filesOf('x-resource', xResource()),
    ...filesOf('meta-schema', metaSchema()),
  ]
}

function filesOf(name: string, { code, exported }: CompiledModule): readonly CompiledFile[] {
  const types = exported.map((one) => `export const ${one}: ValidateFunction\n`)
  return [
    { file: new URL(`${name}.js`, TARGET), text: code },
    { file: new URL(`${name}.d.ts`, TARGET), text: `import type { ValidateFunction } from 'ajv'\n${types.join('')}` },
  ]
}

interface CompiledModule {
  readonly code: string
  /** The names of the functions. */
  readonly exported: readonly string[]
}

/** Diagnostics about YAML files show values. */
const YAML: Options = { strict: true, allowUnionTypes: true, verbose: true, validateSchema: false }

function policyFiles(): CompiledModule {
  const names = [
    'approvals',
    'callers',
    'conditions',
    'guarantees',
    'limits',
    'masks',
    'ownership',
    'roles',
    'subscriptions',
    'views',
  ]
  const ajv = createAjv(YAML)
  for (const name of names) ajv.addSchema(read(`policy/schemas/${name}.schema.json`), name)
  return moduleOf(ajv, Object.fromEntries(names.map((name) => [name, name])))
}

function migrationFiles(): CompiledModule {
  const ajv = createAjv(YAML)
  ajv.addSchema(read('migrations/file/schemas/migration.schema.json'), 'migration')
  return moduleOf(ajv, { migration: 'migration' })
}

/** Of an archive, which may come from anybody. */
function manifestIn(schema: string): CompiledModule {
  const formats = { 'date-time': fullFormats['date-time'] }
  const ajv = createAjv({ strict: true, allowUnionTypes: true, allErrors: false, validateSchema: false, formats })
  ajv.addSchema(read(schema), 'manifest')
  return moduleOf(ajv, { isManifest: 'manifest' })
}

function xResource(): CompiledModule {
  const ajv = createAjv({
    formats: { date: fullFormats.date },
    allowUnionTypes: true,
    validateSchema: false,
    verbose: true,
  })
  ajv.addSchema(read('resources/schemas/x-resource.schema.json'), 'x-resource')
  ajv.addSchema(read('resources/schemas/command.schema.json'), 'command')
  return moduleOf(ajv, { fitsXResource: 'x-resource', fitsCommand: 'command' })
}

/** The meta-schema states formats (`regex`, `uri-reference`) that later checks look into more closely. */
function metaSchema(): CompiledModule {
  return moduleOf(createAjv({ validateFormats: false }), { fitsMetaSchema: META })
}

function createAjv(options: Options): Ajv2020 {
  const formats = _`require("ajv-formats/dist/formats.js").fullFormats`
  return new Ajv2020({ allErrors: true, ...options, code: { source: true, esm: true, formats } })
}

/** Ajv writes a module with `require`. */
function moduleOf(ajv: Ajv2020, exported: Readonly<Record<string, string>>): CompiledModule {
  const imported = new Map<string, string>()
  const body = ajvStandalone
    .default(ajv, { ...exported })
    .replace('"use strict";', '')
    .replace(/require\("([^"]+?)(?:\.js)?"\)/g, (_all, from: string) => {
      return imported.getOrInsertComputed(from, () => `imported${imported.size}`)
    })
  const imports = [...imported].map(([from, name]) => `import ${name} from '${from}.js'\n`)
  return { code: `${imports.join('')}${body}\n`, exported: Object.keys(exported) }
}

function read(file: string): object {
  return JSON.parse(readFileSync(new URL(file, SOURCE), 'utf8'))
}

if (import.meta.main) {
  mkdirSync(TARGET, { recursive: true })
  for (const { file, text } of compiledSchemas()) writeFileSync(file, text)
}
