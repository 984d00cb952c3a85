/** Server-sent events to clients that don't read them. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect } from 'chai'
import { sendEvents } from '../../src/server/answers/event-stream.ts'

describe('a stream of events whose client reads nothing', () => {
  /** How many events were made, and whether the stream was ended. */
  async function unread(longestMs: number): Promise<{ readonly made: number; readonly ended: boolean }> {
    let made = 0
    let ended = false
    async function* events() {
      try {
        for (;;) {
          made += 1
          yield `data: ${'x'.repeat(100_000)}\n\n`
        }
      } finally {
        ended = true
      }
    }
    const server = createServer((_, response) => sendEvents(response, {}, events(), longestMs)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
    client.on('error', () => {})
    client.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
    client.pause()
    const closed = once(server, 'connection').then(([socket]) => once(socket, 'close'))
    await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, 1500))])
    const result = { made, ended }
    client.destroy()
    server.closeAllConnections()
    server.close()
    return result
  }

  it('is cut off at its bound, and no more events are made than the system takes', async () => {
    const { made, ended } = await unread(200)
    expect(ended).to.equal(true)
    expect(made).to.be.within(2, 1000)
  })

  it('would stay open without the bound (negative control)', async () => {
    expect((await unread(60_000)).ended).to.equal(false)
  })
})
