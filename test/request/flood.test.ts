/** A client that sends requests without a pause fills its own buffers, not the memory of the server. */
import { cp, mkdtemp, writeFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { removeFolder } from '../ends-with-tests.ts'
import { type ServerProcess, startServer } from '../identity/processes.ts'
import { converse, open, request, sleep } from './raw.ts'

const GET = 'GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n'
const MANY = GET.repeat(1000)

/** Answers that fill what the client doesn't read, so that the server has little to do soon. */
const LARGE = GET.replace('/livez', '/openapi.json').repeat(100)

const ROOT = new URL('../..', import.meta.url).pathname

/** Megabytes: twice what an idle server takes, so that few packets fit without collecting garbage all the time. */
const SMALL_HEAP = 120

/** Much more than a server that takes no more needs on a busy machine. */
const ALIVE_WITHIN_MS = 60_000

describe('a flood of requests', () => {
  let folder: string
  let server: ServerProcess | undefined
  const sockets: Socket[] = []

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
    await cp(join(ROOT, 'policies'), join(folder, 'policies'), { recursive: true })
    await writeFile(join(folder, 'policies/limits.yaml'), 'body: 100kb\npage: { default: 50, max: 200 }\nlimits: {}\n')
  })
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy()
    await server?.stop()
    await removeFolder(folder)
  })

  it('of a client that reads no answer is not taken in', async () => {
    const { url } = await serve(SMALL_HEAP)
    const socket = flood(url, LARGE)
    await untilNothingIsTaken(url, [socket])
    expect(socket.destroyed).to.equal(false)
  })

  it('of a client that reads is taken in as it is answered', async () => {
    const { url } = await serve(SMALL_HEAP)
    const socket = flood(url)
    let answers = 0
    socket.on('data', (data) => {
      answers += data.toString('latin1').split('HTTP/1.1 ').length - 1
    })
    // More than one packet can hold.
    while (answers < 2500) {
      expect(await isAlive(url)).to.equal(true)
      await sleep(100)
    }
  })

  it('behind the last answer of a connection ends with it', async () => {
    const { url } = await serve(SMALL_HEAP)
    const socket = flood(url, GET.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'))
    while (!socket.destroyed) {
      expect(await isAlive(url)).to.equal(true)
      await sleep(100)
    }
  })

  it('over many connections is held to what all of them may have waiting', async () => {
    const { url } = await serve(2 * SMALL_HEAP)
    const flooding = Array.from({ length: 40 }, () => flood(url, LARGE))
    await untilNothingIsTaken(url, flooding)
  })

  async function serve(heapMegabytes: number): Promise<ServerProcess> {
    const env = { NODE_OPTIONS: `--max-old-space-size=${heapMegabytes}`, POLICIES: join(folder, 'policies') }
    server = await startServer(join(folder, 'data'), env)
    return server
  }

  /** Sends as fast as the server takes it, for as long as the test lasts; reads nothing by itself. */
  function flood(url: string, first = ''): Socket {
    const socket = open(url)
    sockets.push(socket)
    const send = () => {
      while (!socket.destroyed && socket.write(MANY));
    }
    socket.write(first)
    socket.on('drain', send)
    send()
    return socket
  }
})

/** Throws when the server doesn't answer others meanwhile. */
async function untilNothingIsTaken(url: string, sockets: readonly Socket[]): Promise<void> {
  const taken = () => sockets.reduce((sum, socket) => sum + takenFrom(socket), 0)
  for (let before = -1; before !== taken(); ) {
    before = taken()
    expect(await isAlive(url)).to.equal(true)
    await sleep(1000)
  }
}

/** Bytes that left this process. */
function takenFrom(socket: Socket): number {
  return socket.bytesWritten - socket.writableLength
}

/** No pooled connection: a server that the flood holds up closes one that was idle before it reads the next request. */
async function isAlive(url: string): Promise<boolean> {
  const { answers } = await converse(url, [request('GET /livez')], { patience: ALIVE_WITHIN_MS })
  return answers[0]?.status === 200
}
