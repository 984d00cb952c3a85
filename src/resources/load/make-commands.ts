/** The routes that the files of `commands/` declare. */
import type { Command, CreateStep, Json, Route, StepValue } from '../resource.ts'
import type { JsonObject, SchemaFile } from '../schema/schema-file.ts'
import { makeEndpoints, type RouteDeclaration } from './make-routes.ts'

/** The form that command.schema.json states. */
export interface CommandDeclaration {
  readonly title?: string
  readonly description?: string
  readonly resource: string
  readonly path: string
  readonly action: string
  readonly precondition?: 'required'
  readonly input?: JsonObject
  readonly require?: Readonly<Record<string, readonly Json[]>>
  readonly set: Readonly<Record<string, StepValue>>
  readonly create?: readonly CreateStep[]
  readonly grants?: 'steps'
}

/** Of a file that has passed checkCommand. */
export function declaredCommand({ json }: SchemaFile): CommandDeclaration {
  return json as unknown as CommandDeclaration
}

/** As a schema file would declare it, if it could. */
export function routeOfCommand(file: SchemaFile): RouteDeclaration {
  const { path, action } = declaredCommand(file)
  return { path, action, methods: ['POST'] }
}

/** The command writes its object, so its action is decided like a PATCH. The file must have passed the checks. */
export function makeCommandRoute(file: SchemaFile): Route {
  const {
    path,
    action,
    resource,
    precondition,
    title,
    description,
    input,
    require = {},
    set,
    create: creates = [],
    grants,
  } = declaredCommand(file)
  const command: Command = Object.freeze({
    name: file.resource,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(input === undefined ? {} : { input }),
    require,
    set,
    creates,
    sets: new Set(Object.keys(set).filter((name) => !('input' in (set[name] as StepValue)))),
    namesCaller: [set, ...creates.map((one) => one.set)].some((some) =>
      Object.values(some).some((step) => 'caller' in step),
    ),
    grantsSteps: grants === 'steps',
  })
  return Object.freeze({
    path,
    resource,
    kind: 'item',
    ...makeEndpoints(new Map([['POST', 'update']]), (operation) => (operation === 'options' ? operation : action)),
    ...(precondition === undefined ? {} : { precondition }),
    command,
  })
}
