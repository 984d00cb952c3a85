/**
 * A receiver of webhooks for a trial: it verifies each signature (https://www.standardwebhooks.com), and writes each event
 * into received.log. `node webhook-receiver.ts SECRET_FILE PORT`; crt.pem and key.pem are its certificate.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { appendFileSync, readFileSync } from 'node:fs'
import { createServer } from 'node:https'

const [file = 'erp.secret', port = '8443'] = process.argv.slice(2)
/** In seconds: an older request may be one that somebody sends again. */
const OLDEST = 300
const seen = new Set<string>()

function isGenuine(headers: Readonly<Record<string, unknown>>, body: string): boolean {
  const id = String(headers['webhook-id'])
  const time = String(headers['webhook-timestamp'])
  if (!(Math.abs(Date.now() / 1000 - Number(time)) < OLDEST)) return false
  // Read for each request: the secret may be a new one.
  const secret = readFileSync(file, 'utf8').trim().replace('whsec_', '')
  const made = createHmac('sha256', Buffer.from(secret, 'base64')).update(`${id}.${time}.${body}`).digest()
  return String(headers['webhook-signature'])
    .split(' ')
    .some((one) => {
      const given = Buffer.from(one.replace('v1,', ''), 'base64')
      return given.length === made.length && timingSafeEqual(given, made)
    })
}

const server = createServer(
  { cert: readFileSync('crt.pem'), key: readFileSync('key.pem') },
  async (request, response) => {
    const body = (await request.setEncoding('utf8').toArray()).join('')
    if (!isGenuine(request.headers, body)) {
      response.writeHead(400).end()
      return
    }
    const id = String(request.headers['webhook-id'])
    // An event may come twice.
    if (!seen.has(id)) appendFileSync('received.log', `${body}\n`)
    seen.add(id)
    response.writeHead(204).end()
  },
)
server.listen(Number(port), '127.0.0.1', () => {
  process.stderr.write(`${JSON.stringify({ msg: 'listening', url: `https://127.0.0.1:${port}` })}\n`)
})
