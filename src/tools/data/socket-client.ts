/** Sends the requests of a command over HTTP on its own socket. */
import { Agent, type IncomingMessage, request as send } from 'node:http'
import { text } from 'node:stream/consumers'
import type { PipelineAnswer, PipelineRequest } from './pipeline.ts'

export interface SocketClient {
  ask(request: PipelineRequest): Promise<PipelineAnswer>
  close(): void
}

export function createClient(socketPath: string, token: string): SocketClient {
  const agent = new Agent({ keepAlive: true })
  return {
    async ask({ method, path, body, idempotencyKey }) {
      const written = body === undefined ? undefined : JSON.stringify(body)
      const headers = {
        authorization: `Bearer ${token}`,
        ...(written === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(written) }),
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      }
      const answer = await new Promise<IncomingMessage>((resolve, reject) => {
        send({ socketPath, agent, method, path, headers }, resolve).on('error', reject).end(written)
      })
      const answered = await text(answer)
      return {
        status: answer.statusCode ?? 500,
        body: answered === '' ? undefined : JSON.parse(answered),
        location: answer.headers.location,
        replayed: answer.headers['idempotency-replayed'] === 'true',
      }
    },
    close: () => agent.destroy(),
  }
}
