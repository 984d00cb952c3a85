/** TypeScript of the function `connect`: each group of a client with what its document offers there, and no more. */
import { EVENT_STREAM } from '../../server/answers/event-stream.ts'
import {
  type ClientGroup,
  type ClientGroups,
  type ClientRoute,
  METHODS,
  type OfferedOperation,
  schemaOf,
} from './client-groups.ts'

const NO_OPTIONS = ': CallOptions = {}'

export function connectSource({ groups }: ClientGroups, batchPath: string | undefined): string {
  const names = [...groups].map(([name, group]) => member(name, groupSource(group)))
  const batch =
    batchPath === undefined || groups.has('batch')
      ? []
      : [
          `/** Sends up to 100 requests in one. */
    batch: (body: Schemas['Batch'], options: CreateOptions = {}) =>
      http.batch<Schemas['BatchAnswers']>(${quoted(batchPath)}, body, options),`,
        ]
  return `export type Client = ReturnType<typeof connect>

/** A client of the server at \`url\`. It holds no connection, so it needs no end. */
export function connect(options: ClientOptions) {
  const http = new Connection(options)
  return {
    ${[...names, ...batch].join('\n    ')}
  }
}

export type NoQuery = Record<string, never>
export type QueryOf<Path extends keyof paths> = paths[Path] extends { get: { parameters: { query?: infer Query } } }
  ? NonNullable<Query>
  : NoQuery
/** A query for all objects, page after page, and one for groups of them. */
export type ListQuery<Query> = Omit<Query, 'cursor' | 'count' | 'aggregate' | 'by'>
export type GroupsQuery<Query> = { aggregate: string[] } & Omit<
  Query,
  'aggregate' | 'limit' | 'sort' | 'fields' | 'cursor' | 'count' | 'can' | 'expand'
>
`
}

function groupSource({ routes, parts }: ClientGroup): string {
  const hasSingle = routes.some(({ kind }) => kind === 'single')
  const own = routes.flatMap((route) => {
    if (route.kind === 'list') return listMembers(route, quoted(route.path))
    if (route.kind === 'single') return objectMembers(route)
    return hasSingle ? [member('byId', object(objectMembers(route)))] : objectMembers(route)
  })
  const inner = [...parts].map(([name, route]) => partMember(name, route))
  return object([...own, ...inner])
}

function partMember(name: string, route: ClientRoute): string {
  const { path, kind, operations } = route
  const place = `at(${quoted(path)}, parentId)`
  switch (kind) {
    case 'command':
      return commandMember(name, route)
    case 'events':
      return eventsMember(name, route)
    case 'history':
      return member(name, `(parentId: string) => (${object(historyMembers(path, place, operations.get))})`)
    case 'list':
      return member(name, `(parentId: string) => (${object(listMembers(route, place))})`)
    default:
      return member(name, object(objectMembers(route)))
  }
}

function eventsMember(name: string, { path, operations: { get } }: ClientRoute): string {
  const told = shape(
    get?.responses['200']?.content,
    `paths[${quoted(path)}]['get']['responses'][200]['content']`,
    EVENT_STREAM,
  )
  const query = get ? queryOf(path, get) : 'NoQuery'
  const source = `(query: ${query} = {}, options: EventOptions = {}) =>
        follow<${told}>(http, ${quoted(path)}, query, options)`
  return `/** What happens to the objects that the list shows, until the program stops; reconnects by itself. */
      ${member(name, source)}`
}

/** `place`: the path, as an expression. */
function listMembers({ path, operations: { get, post } }: ClientRoute, place: string): readonly string[] {
  return [...(get ? readMembers(path, place, get) : []), ...(post ? [createMember(path, place, post)] : [])]
}

function historyMembers(path: string, place: string, get: OfferedOperation | undefined): readonly string[] {
  if (!get) return []
  return [
    ...pageMembers(
      path,
      place,
      get,
      `Omit<${queryOf(path, get)}, 'at'>`,
      '/** All versions, the newest first. */\n      ',
    ),
    `/** The version of a time, as in RFC 3339. */
      at: (time: string, options${NO_OPTIONS}) =>
        http.version<${pageShape(path, get)}['items'][number]>(${place}, { at: time }, options),`,
  ]
}

function readMembers(path: string, place: string, get: OfferedOperation): readonly string[] {
  const query = queryOf(path, get)
  const members = pageMembers(path, place, get, query, comment(get))
  if (!get.parameters?.some(({ name }) => name === 'aggregate')) return members
  const groups = `NonNullable<${pageShape(path, get)}['groups']>`
  return [
    ...members,
    `/** Counts and sums in place of objects. */
      aggregate: async (query: GroupsQuery<${query}>, options${NO_OPTIONS}) =>
        (await http.page<{ groups: ${groups} }>(${place}, query, options)).groups,`,
  ]
}

function pageMembers(
  path: string,
  place: string,
  get: OfferedOperation,
  query: string,
  about: string,
): readonly string[] {
  const page = pageShape(path, get)
  return [
    `${about}list: (query: ListQuery<${query}> = {}, options${NO_OPTIONS}) =>
        http.list<${page}['items'][number]>(${place}, query, options),`,
    `/** One page of it; \`next\` is the \`cursor\` of the page after it. */
      page: (query: ${query} = {}, options${NO_OPTIONS}) => http.page<${page}>(${place}, query, options),`,
  ]
}

function pageShape(path: string, get: OfferedOperation): string {
  return shape(get.responses['200']?.content, `paths[${quoted(path)}]['get']['responses'][200]['content']`)
}

function createMember(path: string, place: string, post: OfferedOperation): string {
  const at = `paths[${quoted(path)}]['post']`
  const body = shape(post.requestBody?.content, `NonNullable<${at}['requestBody']>['content']`)
  const made = shape(post.responses['201']?.content, `${at}['responses'][201]['content']`)
  return `${comment(post)}create: (body: ${body}, options: CreateOptions = {}) =>
        http.create<${made}>(${place}, body, options),`
}

function commandMember(name: string, { path, operations: { post } }: ClientRoute): string {
  const at = `paths[${quoted(path)}]['post']`
  const shown = shape(post?.responses['200']?.content, `${at}['responses'][200]['content']`)
  const content = post?.requestBody?.content
  const [body, given] = content
    ? [`body: ${shape(content, `NonNullable<${at}['requestBody']>['content']`)}, `, 'body']
    : ['', 'undefined']
  const run = member(
    name,
    `(of: string | Read<${shown}>, ${body}options: RunOptions = {}) =>
        http.run<${shown}>(${quoted(path)}, of, ${given}, options)`,
  )
  return `${post ? comment(post) : ''}${run}`
}

function objectMembers({ path, kind, operations }: ClientRoute): readonly string[] {
  const read = operations.get ?? operations.patch ?? operations.put
  const method = METHODS.find((one) => operations[one] === read && read !== undefined)
  const shown = shape(
    read?.responses['200']?.content,
    `paths[${quoted(path)}]['${method}']['responses'][200]['content']`,
  )
  // Nothing but its path names a single object, so only one that was read has a tag.
  const of = kind === 'single' ? `Read<${shown}>` : `string | Read<${shown}>`
  const [id, given] = kind === 'single' ? ['', 'undefined'] : ['id: string, ', 'id']
  const { get, put, patch, delete: remove } = operations
  const write = (name: 'patch' | 'put', types: readonly string[]) =>
    types
      .map((type) =>
        shape(
          operations[name]?.requestBody?.content,
          `NonNullable<paths[${quoted(path)}]['${name}']['requestBody']>['content']`,
          type,
        ),
      )
      .join(' | ')
  const place = quoted(path)
  return [
    get &&
      `${comment(get)}get: (${id}query: ${queryOf(path, get)} = {}, options${NO_OPTIONS}) =>
        http.get<${shown}>(${place}, ${given}, query, options),`,
    patch &&
      `${comment(patch)}update: (of: ${of}, change: ${write('patch', ['application/merge-patch+json', 'application/json-patch+json'])}, options: WriteOptions = {}) =>
        http.update<${shown}>(${place}, of, change, options),`,
    put &&
      `${comment(put)}replace: (of: ${of}, body: ${write('put', ['application/json'])}, options: WriteOptions = {}) =>
        http.replace<${shown}>(${place}, of, body, options),`,
    remove &&
      `${comment(remove)}delete: (of: ${of}, options: WriteOptions = {}) => http.delete(${place}, of, options),`,
  ].filter((one) => one !== undefined)
}

/** The name of a schema where it has one: editors show it. */
function shape(
  content: OfferedOperation['responses'][string]['content'],
  where: string,
  type = 'application/json',
): string {
  const name = schemaOf(content, type)?.$ref?.split('/').at(-1)
  if (name !== undefined) return `Schemas[${quoted(name)}]`
  return schemaOf(content, type) ? `${where}[${quoted(type)}]` : 'object'
}

function queryOf(path: string, get: OfferedOperation): string {
  if (!get.parameters?.some((one) => one.in === 'query')) return 'NoQuery'
  return `QueryOf<${quoted(path)}>`
}

function comment({ summary, deprecated }: OfferedOperation): string {
  const text = [summary && `${summary.replaceAll('*/', '*')}.`, deprecated && '@deprecated'].filter(Boolean).join(' ')
  return text === '' ? '' : `/** ${text} */\n      `
}

function member(name: string, source: string): string {
  return `${/^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(name) ? name : quoted(name)}: ${source},`
}

function object(members: readonly string[]): string {
  return `{\n      ${members.join('\n      ')}\n    }`
}

function quoted(text: string): string {
  return JSON.stringify(text).replaceAll("'", "\\'").replace(/^"|"$/g, "'").replaceAll('\\"', '"')
}
