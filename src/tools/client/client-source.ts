/** TypeScript of the function `connect`: each group of a client with what its document offers there, and no more. */
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
  const inner = [...parts].map(([name, route]) => {
    if (route.kind === 'command') return commandMember(name, route)
    if (route.kind !== 'list') return member(name, object(objectMembers(route)))
    return member(name, `(parentId: string) => (${object(listMembers(route, `at(${quoted(route.path)}, parentId)`))})`)
  })
  return object([...own, ...inner])
}

/** `place`: the path, as an expression. */
function listMembers({ path, operations: { get, post } }: ClientRoute, place: string): readonly string[] {
  return [...(get ? readMembers(path, place, get) : []), ...(post ? [createMember(path, place, post)] : [])]
}

function readMembers(path: string, place: string, get: OfferedOperation): readonly string[] {
  const page = shape(get.responses['200']?.content, `paths[${quoted(path)}]['get']['responses'][200]['content']`)
  const query = queryOf(path, get)
  const listed = `ListQuery<${query}>`
  const members = [
    `${comment(get)}list: (query: ${listed} = {}, options${NO_OPTIONS}) =>
        http.list<${page}['items'][number]>(${place}, query, options),`,
    `/** One page of it; \`next\` is the \`cursor\` of the page after it. */
      page: (query: ${query} = {}, options${NO_OPTIONS}) => http.page<${page}>(${place}, query, options),`,
  ]
  if (!get.parameters?.some(({ name }) => name === 'aggregate')) return members
  const groups = `NonNullable<${page}['groups']>`
  return [
    ...members,
    `/** Counts and sums in place of objects. */
      aggregate: async (query: GroupsQuery<${query}>, options${NO_OPTIONS}) =>
        (await http.page<{ groups: ${groups} }>(${place}, query, options)).groups,`,
  ]
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
