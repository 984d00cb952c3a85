/** A witness as C2SP's tlog-witness describes it: it signs a checkpoint only if it goes on from the last one. */
import { generateKeyPairSync, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { isConsistent } from '../../../src/decision-log/tree/merkle.ts'
import {
  type Checkpoint,
  fromBase64,
  openNote,
  readCheckpoint,
  type VerifierKey,
  verifierKey,
} from '../../../src/decision-log/tree/signed-note.ts'

const COSIGNATURE = 4

export interface TestWitness {
  readonly url: URL
  readonly key: VerifierKey
  /** The key of the log that it trusts. */
  finds: () => VerifierKey | undefined
  /** What it has signed last. */
  signed: Checkpoint | undefined
  /** Answers with this status in place of its work. */
  refuses: number | undefined
  stop(): Promise<void>
}

export async function startTestWitness(): Promise<TestWitness> {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const key = verifierKey('witness.example/w1', publicKey, COSIGNATURE)
  const server = createServer(async (request, response) => {
    const [status, body] = witness.refuses ? [witness.refuses, ''] : addCheckpoint(await text(request))
    response.writeHead(status, status === 409 ? { 'content-type': 'text/x.tlog.size' } : {}).end(body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  function addCheckpoint(body: string): readonly [number, string] {
    const end = body.indexOf('\n\n')
    const [oldLine = '', ...lines] = body.slice(0, end).split('\n')
    const old = Number(/^old (?<size>\d+)$/.exec(oldLine)?.groups?.size)
    const note = body.slice(end + 2)
    const trusted = witness.finds()
    if (!trusted || !note.startsWith(`${trusted.name}\n`)) return [404, '']
    const signed = openNote(note, trusted)
    const checkpoint = signed === undefined ? undefined : readCheckpoint(signed)
    if (signed === undefined || !checkpoint) return [403, '']
    if (!(old <= checkpoint.size)) return [400, '']
    const known = witness.signed ?? { origin: '', size: 0, root: '' }
    if (old !== known.size) return [409, `${known.size}\n`]
    const proof = lines.map((line) => fromBase64(line) ?? '')
    if (!isConsistent(known, checkpoint, proof)) return [422, '']
    witness.signed = checkpoint
    const time = BigInt(Math.floor(Date.now() / 1000))
    const bytes = Buffer.alloc(8)
    bytes.writeBigUInt64BE(time)
    const signature = sign(null, Buffer.from(`cosignature/v1\ntime ${time}\n${signed}`), privateKey)
    const line = Buffer.concat([Buffer.from(key.id, 'hex'), bytes, signature]).toString('base64')
    return [200, `— ${key.name} ${line}\n`]
  }

  const witness: TestWitness = {
    url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`),
    key,
    finds: () => undefined,
    signed: undefined,
    refuses: undefined,
    async stop() {
      server.closeAllConnections()
      server.close()
    },
  }
  return witness
}

export function witnessKeyText({ name, id, key }: VerifierKey): string {
  const typed = Buffer.concat([Buffer.from([COSIGNATURE]), key.export({ type: 'spki', format: 'der' }).subarray(-32)])
  return `${name}+${id}+${typed.toString('base64')}`
}
