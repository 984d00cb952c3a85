/** The servers that are measured beside each other: ours on a prepared folder, and those without any check. */
import { environmentOf } from './fixture/environment.ts'
import type { Prepared, Target } from './fixture/shape.ts'
import type { Contender } from './machine/server.ts'

const SALLYPORT = new URL('../bin/sallyport.js', import.meta.url).pathname
const PRELOAD = new URL('preload/', import.meta.url).pathname
const PROGRAMS = new URL('programs/', import.meta.url).pathname

const HEADERS = {
  'Policy-Revision': '0123456789abcdef',
  Vary: 'Authorization, Accept',
  'Cache-Control': 'private, no-cache',
  'RateLimit-Policy': '"address";q=1000000000;w=60, "member";q=1000000000;w=60',
  RateLimit: '"address";r=999999999;t=60, "member";r=999999999;t=60',
  ETag: '"0123456789abcdefghijklmn"',
}

/** What the shipped command serves, with everything on. */
export function ours(name: string, { folder, target }: Prepared, environment: Readonly<Record<string, string>> = {}) {
  return {
    name,
    command: [process.execPath, SALLYPORT, 'serve'],
    environment: { ...environmentOf(folder), ...environment },
    target,
  } satisfies Contender
}

/** The same program, but each write has a commit of its own. */
export function oneCommitEach(name: string, prepared: Prepared): Contender {
  return withPreload(ours(name, prepared), 'one-write-at-a-time')
}

/** The same program, which tells how long its event loop stood still. */
export function withEventLoop(
  name: string,
  prepared: Prepared,
  environment: Readonly<Record<string, string>>,
): Contender {
  return { ...withPreload(ours(name, prepared, environment), 'event-loop'), channel: true }
}

/** The same program, which leaves a CPU profile in the folder when it stops. */
export function withProfile(name: string, prepared: Prepared, folder: string): Contender {
  return withFlags(ours(name, prepared), ['--cpu-prof', `--cpu-prof-dir=${folder}`])
}

function withPreload(contender: Contender, preload: string): Contender {
  return withFlags(contender, ['--import', `${PRELOAD}${preload}.ts`])
}

/** Flags of Node. */
function withFlags(contender: Contender, flags: readonly string[]): Contender {
  const [node = '', ...args] = contender.command
  return { ...contender, command: [node, ...flags, ...args] }
}

/** node:sqlite without any check, in a folder of its own; the object that it is asked for is always there. */
export function insertEach(name: string, folder: string, like: Target): Contender {
  return {
    name,
    command: [process.execPath, `${PROGRAMS}insert-each.js`],
    environment: { DATABASE: `${folder}/notes.db` },
    target: { ...like, expect: [200, 200, 200, 200, 200, 201] },
  }
}

export interface Statements {
  readonly select: string
  readonly insert: string
}

/** node:http and pg without any check. */
export function postgresByHand(name: string, url: string, { select, insert }: Statements, like: Target): Contender {
  return {
    name,
    command: [process.execPath, `${PROGRAMS}postgres.js`],
    environment: { DATABASE_URL: url, SELECT: select, INSERT: insert },
    target: { ...like, expect: [200, 200, 200, 404, 200, 201] },
  }
}

export function bare(name: string, like: Target): Contender {
  return unchecked(name, 'bare', like, 200)
}

export function koaRouter(name: string, like: Target): Contender {
  return unchecked(name, 'koa-router', like, 405)
}

/** With the headers of our answers: what is left when nothing is decided, counted, read or recorded. */
export function koaRouterWithHeaders(name: string, like: Target): Contender {
  const contender = koaRouter(name, like)
  return { ...contender, environment: { ...contender.environment, HEADERS: JSON.stringify(HEADERS) } }
}

/** They give every caller the same note, as long as one of ours. */
function unchecked(name: string, program: string, like: Target, toPost: number): Contender {
  const id = like.ids[0] ?? ''
  const body = JSON.stringify({
    id,
    ownerId: 'u7',
    title: 'Note 7',
    body: '7 '.padEnd(158, 'lorem ipsum '),
    createdAt: '2026-01-01T00:00:00.000Z',
    updatedAt: '2026-01-01T00:00:00.000Z',
  })
  const target = { ...like, ids: [id], expect: [200, 200, 200, 200, 200, toPost] }
  return { name, command: [process.execPath, `${PROGRAMS}${program}.js`], environment: { BODY: body }, target }
}
