/** Checks the files of `commands/`: the route, the input, and each step with the schema of its resource. */
import type { Diagnostic } from '../../base/diagnostic.ts'
import { didYouMean } from '../../base/did-you-mean.ts'
import { isObject } from '../../base/is-object.ts'
import type { Path } from '../../base/json-pointer.ts'
import { type CommandDeclaration, declaredCommand, routeOfCommand } from '../load/make-commands.ts'
import { declaredField } from '../load/make-fields.ts'
import { declaredRoutes, isExternal } from '../load/make-routes.ts'
import type { CreatedValue, Json } from '../resource.ts'
import { OWN_KEYWORDS } from '../schema/own-keywords.ts'
import { type JsonObject, partOf, type SchemaFile } from '../schema/schema-file.ts'
import { allSubschemas, fieldSchemas } from '../schema/subschemas.ts'
import type { SchemaCompiler } from '../validate/compile-schema.ts'
import { checkKeywords } from './keywords.ts'
import { checkCommand, checkMetaSchema } from './meta-schema.ts'
import { checkPatterns } from './patterns.ts'
import { checkCommandRoute } from './routes.ts'

/** What guarantees count of people, they count for one write of a record by itself. */
const DIRECTORY = 'users'

/** `files`: of resources, without faults of their own. */
export function checkCommands(
  commands: readonly SchemaFile[],
  files: readonly SchemaFile[],
  compiler: SchemaCompiler,
): readonly Diagnostic[] {
  return commands.flatMap((command, i) => {
    const invalid = checkCommand(command)
    if (invalid.length > 0) return invalid
    const declared = declaredCommand(command)
    const file = files.find(({ resource }) => resource === declared.resource)
    const own = [...checkCommandRoute(command, routeOfCommand(command)), ...inputFaults(command, declared, compiler)]
    if (!isStored(file)) return [...own, noResource(command, declared.resource, { files, at: ['resource'] })]
    const earlier = commands.slice(0, i).filter((one) => checkCommand(one).length === 0)
    const steps = { command, declared, file, compiler }
    return [
      ...own,
      ...takenAction(command, declared, file, earlier),
      ...stepFaults(steps),
      ...createFaults(steps, files),
      ...unusedMembers(command, declared),
    ]
  })
}

function isStored(file: SchemaFile | undefined): file is SchemaFile {
  return file !== undefined && !isExternal(file) && file.resource !== DIRECTORY
}

function noResource(
  command: SchemaFile,
  resource: string,
  { files, at }: { readonly files: readonly SchemaFile[]; readonly at: Path },
): Diagnostic {
  const stored = files.filter((one) => !isExternal(one)).map((one) => one.resource)
  const message =
    resource === DIRECTORY
      ? "a command can't be about `users`"
      : `no resource \`${resource}\` is stored here${didYouMean(resource, stored)}`
  return command.fault(at, 'command-resource', message)
}

/** Rules about the action must mean this command alone. */
function takenAction(
  command: SchemaFile,
  { action, resource }: CommandDeclaration,
  file: SchemaFile,
  earlier: readonly SchemaFile[],
): readonly Diagnostic[] {
  const isOther = (one: SchemaFile) => {
    const other = declaredCommand(one)
    return other.resource === resource && other.action === action
  }
  if (!declaredRoutes(file).some((route) => route.action === action) && !earlier.some(isOther)) return []
  return [command.fault(['action'], 'route-action', `another route of \`${resource}\` has the action \`${action}\``)]
}

/** The schema of the input, as that of a resource is checked. */
function inputFaults(
  command: SchemaFile,
  { input }: CommandDeclaration,
  compiler: SchemaCompiler,
): readonly Diagnostic[] {
  if (!input) return []
  const file = partOf(command, 'input', input)
  const invalid = checkMetaSchema(file)
  if (invalid.length > 0) return invalid
  const faults = [checkKeywords, checkPatterns, refusedKeywords].flatMap((check) => check(file))
  return faults.length > 0 ? faults : compiler.check(file)
}

/** The OpenAPI document repeats the schema at another place, where a `$ref` would lead nowhere. */
const REFUSED: readonly string[] = ['$schema', '$ref', '$defs', 'readOnly', 'default', ...Object.keys(OWN_KEYWORDS)]

function refusedKeywords(file: SchemaFile): readonly Diagnostic[] {
  return allSubschemas(file.json as JsonObject).flatMap(({ path, schema }) =>
    REFUSED.filter((keyword) => isObject(schema) && Object.hasOwn(schema, keyword)).map((keyword) =>
      file.faultAtKey([...path, keyword], 'keyword-misplaced', `\`${keyword}\` can't stand in the input of a command`),
    ),
  )
}

interface CheckedSteps {
  readonly command: SchemaFile
  readonly declared: CommandDeclaration
  /** Of the command's resource. */
  readonly file: SchemaFile
  readonly compiler: SchemaCompiler
}

function stepFaults(steps: CheckedSteps): readonly Diagnostic[] {
  const { command, declared, file, compiler } = steps
  const { require = {}, set } = declared
  const json = file.json as JsonObject
  const required = Object.entries(require).flatMap(([name, values]) => [
    ...fieldFault(command, ['require', name], json, 'read'),
    ...values.flatMap((value, i) => valueFault(command, ['require', name, i], { file, compiler, name, value })),
  ])
  return [...required, ...setFaults(steps, set, ['set'])]
}

/** `at`: where the command file has these values. */
function setFaults(
  { command, declared, file, compiler }: CheckedSteps,
  set: Readonly<Record<string, CreatedValue>>,
  at: Path,
): readonly Diagnostic[] {
  return Object.entries(set).flatMap(([name, step]) => [
    ...fieldFault(command, [...at, name], file.json as JsonObject, 'write'),
    ...('value' in step
      ? valueFault(command, [...at, name, 'value'], { file, compiler, name, value: step.value })
      : []),
    ...memberFault(command, [...at, name], step, membersOf(declared)),
  ])
}

function createFaults(steps: CheckedSteps, files: readonly SchemaFile[]): readonly Diagnostic[] {
  const { command, declared } = steps
  const fields = Object.keys(fieldSchemas(steps.file.json as JsonObject))
  return (declared.create ?? []).flatMap(({ resource, set }, i) => {
    const file = files.find((one) => one.resource === resource)
    if (!isStored(file)) return [noResource(command, resource, { files, at: ['create', i, 'resource'] })]
    const copied = Object.entries(set).flatMap(([name, step]) => {
      if (!('object' in step) || fields.includes(step.object)) return []
      const message = `the command's resource has no field \`${step.object}\`${didYouMean(step.object, fields)}`
      return [command.fault(['create', i, 'set', name, 'object'], 'command-field', message)]
    })
    return [...setFaults({ ...steps, file }, set, ['create', i, 'set']), ...copied]
  })
}

function membersOf({ input }: CommandDeclaration): readonly string[] {
  return Object.keys(isObject(input?.properties) ? input.properties : {})
}

function unusedMembers(command: SchemaFile, declared: CommandDeclaration): readonly Diagnostic[] {
  const steps = [declared.set, ...(declared.create ?? []).map(({ set }) => set)].flatMap((set) => Object.values(set))
  const used = new Set(steps.flatMap((step) => ('input' in step ? [step.input] : [])))
  return membersOf(declared)
    .filter((name) => !used.has(name))
    .map((name) => {
      return command.faultAtKey(['input', 'properties', name], 'command-value', `no step uses the member \`${name}\``)
    })
}

function fieldFault(command: SchemaFile, path: Path, json: JsonObject, use: 'read' | 'write'): readonly Diagnostic[] {
  const name = String(path.at(-1))
  const fields = Object.keys(fieldSchemas(json))
  if (!fields.includes(name)) {
    return [
      command.faultAtKey(path, 'command-field', `the resource has no field \`${name}\`${didYouMean(name, fields)}`),
    ]
  }
  if (use === 'read' || !declaredField(json, name).readOnly) return []
  return [command.faultAtKey(path, 'command-field', `\`${name}\` is \`readOnly\`, so no command can set it`)]
}

interface Constant {
  readonly file: SchemaFile
  readonly compiler: SchemaCompiler
  readonly name: string
  readonly value: Json
}

/** A constant that the field can never have. A missing field is required as null, which its schema may refuse. */
function valueFault(command: SchemaFile, path: Path, { file, compiler, name, value }: Constant): readonly Diagnostic[] {
  if (!Object.hasOwn(fieldSchemas(file.json as JsonObject), name)) return []
  if (path[0] === 'require' && value === null) return []
  const [fault] = compiler.attributesValidatorOf(file)({ [name]: value })
  return fault ? [command.fault(path, 'command-value', `the value of \`${name}\` ${fault.detail}`)] : []
}

function memberFault(
  command: SchemaFile,
  path: Path,
  step: CreatedValue,
  members: readonly string[],
): readonly Diagnostic[] {
  if (!('input' in step) || members.includes(step.input)) return []
  const message = `\`input\` has no member \`${step.input}\`${didYouMean(step.input, members)}`
  return [command.fault([...path, 'input'], 'command-value', message)]
}
