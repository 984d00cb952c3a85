/** A server that plays the part of GitHub's REST API that is about the comments of a pull request. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface ApiComment {
  readonly id: number
  body: string
  readonly user: { readonly type: 'Bot' | 'User' }
  readonly author_association: 'OWNER' | 'CONTRIBUTOR' | 'NONE'
}

/** A status that is answered; or `lost`, an answer that never comes although the work is done. */
type Trouble = number | 'lost' | 'as usual'

export interface CommentsApi {
  readonly url: string
  readonly comments: ApiComment[]
  /** Of the pull request. */
  readonly reviews: unknown[]
  /** `GET /repos/…`, with the query, in order. */
  readonly asked: string[]
  /** What becomes of the next requests. */
  readonly next: Trouble[]
  close(): Promise<void>
}

const TOKEN = 'Bearer a-token-of-the-job'
const MOST_CHARACTERS = 65_536

export async function startCommentsApi(): Promise<CommentsApi> {
  const state = { comments: [] as ApiComment[], reviews: [] as unknown[], asked: [] as string[], next: [] as Trouble[] }
  const server = createServer((request, response) => void answer(state, request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return { ...state, url: `http://127.0.0.1:${port}`, close }
}

type State = Pick<CommentsApi, 'comments' | 'reviews' | 'asked' | 'next'>

async function answer(state: State, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = '', url = '', headers } = request
  state.asked.push(`${method} ${url}`)
  const text = (await Array.fromAsync(request)).join('')
  const trouble = state.next.shift()
  if (typeof trouble === 'number') {
    const wait = trouble === 429 || trouble >= 500 ? { 'retry-after': '0' } : {}
    return void response.writeHead(trouble, wait).end('{"message":"Resource not accessible by integration"}')
  }
  if (headers.authorization !== TOKEN) return void response.writeHead(401).end('{}')
  const [status, json] = change(state, method, new URL(url, 'http://api'), text)
  if (trouble === 'lost') return void response.destroy()
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json))
}

function change({ comments, reviews }: State, method: string, url: URL, text: string): readonly [number, unknown] {
  const { body = '' } = text === '' ? {} : JSON.parse(text)
  if (body.length > MOST_CHARACTERS) return [422, { message: 'Body is too long (maximum is 65536 characters)' }]
  const pageOf = <T>(all: readonly T[]) => {
    const [size, page] = [Number(url.searchParams.get('per_page')), Number(url.searchParams.get('page'))]
    return all.slice((page - 1) * size, page * size)
  }
  if (url.pathname === '/repos/acme/api/pulls/7/reviews') return [200, pageOf(reviews)]
  if (url.pathname === '/repos/acme/api/issues/7/comments') {
    if (method === 'POST')
      comments.push({ id: 1000 + comments.length, body, user: { type: 'Bot' }, author_association: 'NONE' })
    if (method === 'POST') return [201, comments.at(-1)]
    return [200, pageOf(comments)]
  }
  const [, id] = /^\/repos\/acme\/api\/issues\/comments\/(\d+)$/.exec(url.pathname) ?? []
  const found = comments.find((one) => method === 'PATCH' && one.id === Number(id))
  if (!found) return [404, { message: 'Not Found' }]
  found.body = body
  return [200, found]
}
