/** Systems that take records, which tests can stop, slow down, and make refuse. */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { program } from '../../programs.ts'

/** A certificate for 127.0.0.1 that nobody but its holder trusts: `crt.pem` and `key.pem` in the folder. */
export function makeCertificate(folder: string): void {
  const names = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1']
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
  execFileSync(program('openssl'), ['req', '-x509', ...kind, ...names, '-keyout', 'key.pem', '-out', 'crt.pem'], {
    cwd: folder,
    stdio: 'pipe',
  })
}

export interface HttpCollector {
  readonly port: number
  /** Bodies of the requests that it took, and their headers. */
  readonly taken: { readonly body: string; readonly headers: IncomingMessage['headers'] }[]
  /** Answers in the place of 200; undefined: it takes the body. */
  answer: (body: string) => { readonly status: number; readonly headers?: Record<string, string> } | 'never' | undefined
  /** Of an answer with 200. */
  text: string
  stop(): Promise<void>
}

/** By HTTPS, with the certificate of the folder. */
export async function startHttpCollector(folder: string, port = 0): Promise<HttpCollector> {
  const pem = (name: string) => readFileSync(join(folder, name))
  const collector: HttpCollector = {
    port: 0,
    taken: [],
    answer: () => undefined,
    text: '{}',
    async stop() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
  const server: Server = createServer({ cert: pem('crt.pem'), key: pem('key.pem') }, async (request, response) => {
    const body = await textOf(request)
    const refusal = collector.answer(body)
    if (refusal === 'never') return
    if (refusal === undefined) collector.taken.push({ body, headers: request.headers })
    end(response, refusal ?? { status: 200 }, refusal === undefined ? collector.text : '')
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return Object.assign(collector, { port: (server.address() as AddressInfo).port })
}

function end(response: ServerResponse, { status, headers }: { status: number; headers?: object }, text: string): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(text)
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) text += chunk
  return text
}
