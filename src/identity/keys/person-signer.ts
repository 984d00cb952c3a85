/** The private Ed25519 key of a person who proposes or approves a policy: a file, or a key in the SSH agent. */

import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { systemReason } from '../../base/files/system-reason.ts'
import { personKey, sshLength } from '../../policy/parse/person-key.ts'
import type { PersonSigner } from '../../policy/published/signed-by-person.ts'
import { quote } from '../../present/quote.ts'
import { signerElsewhere } from './key-elsewhere.ts'
import { KeyError } from './key-error.ts'

const AGENT = 'ssh-agent:'

/** People may have to allow a signature. */
const AGENT_WITHIN_MS = 60_000

/**
 * `named`: a file in PEM, OpenSSH's form or JWK; `ssh-agent:` and the comment or the fingerprint of a key; or a key that
 * is elsewhere. Throws KeyError.
 */
export async function openPersonSigner(
  named: string,
  environment: Readonly<Record<string, string | undefined>>,
  agentWithinMs = AGENT_WITHIN_MS,
): Promise<PersonSigner> {
  const elsewhere = signerElsewhere(named)
  if (elsewhere) return elsewhere
  if (named.startsWith(AGENT)) {
    const { SSH_AUTH_SOCK: socket } = environment
    if (!socket) throw new KeyError('SSH_AUTH_SOCK is not set, so there is no SSH agent; start one, or give --key FILE')
    return agentSigner(named.slice(AGENT.length), { socket, withinMs: agentWithinMs })
  }
  const privateKey = privateKeyOf(named, textOf(named))
  const { x = '' } = createPublicKey(privateKey).export({ format: 'jwk' })
  return { kid: personKey(x).kid, sign: async (bytes) => new Uint8Array(sign(null, bytes, privateKey)) }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new KeyError(
      `the key ${file} can't be read (${systemReason((error as NodeJS.ErrnoException).code)}); name a readable file`,
    )
  }
}

function privateKeyOf(file: string, text: string): KeyObject {
  try {
    const key = text.includes('BEGIN OPENSSH PRIVATE KEY') ? openSshKey(text) : otherKey(text)
    if (key?.asymmetricKeyType === 'ed25519') return key
  } catch (error) {
    if (error instanceof Locked) {
      const hint = `add it to the SSH agent with \`ssh-add ${file}\`, and give --key ssh-agent:NAME`
      throw new KeyError(`the key ${file} has a passphrase; ${hint}`)
    }
  }
  throw new KeyError(`${file} is not a private Ed25519 key; name a file with one, as made by \`ssh-keygen -t ed25519\``)
}

/** Throws Locked for a key with a passphrase, and the errors of node:crypto. */
function otherKey(text: string): KeyObject {
  if (text.includes('BEGIN ENCRYPTED PRIVATE KEY')) throw new Locked()
  return text.trimStart().startsWith('{')
    ? createPrivateKey({ key: JSON.parse(text), format: 'jwk' })
    : createPrivateKey(text)
}

// ---- OpenSSH's own form (PROTOCOL.key): strings, each behind its length in four bytes -------------------------------

const MAGIC = Buffer.from('openssh-key-v1\0')

class Locked extends Error {}

/** Undefined for another kind of key, and a damaged one. Throws Locked for a key with a passphrase, and RangeError. */
function openSshKey(text: string): KeyObject | undefined {
  const bytes = Buffer.from(text.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64')
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC)) return undefined
  const outer = new Strings(bytes.subarray(MAGIC.length))
  const cipher = outer.next().toString()
  if (cipher !== 'none') throw new Locked()
  // The derivation of a key from a passphrase, and its options; the number of keys, and the first public one.
  outer.next()
  outer.next()
  outer.skip(4)
  outer.next()
  const inner = new Strings(outer.next())
  // Two equal numbers, which show that a passphrase was right.
  inner.skip(8)
  if (inner.next().toString() !== 'ssh-ed25519') return undefined
  const x = inner.next().toString('base64url')
  // The seed, and the public key again.
  const d = inner.next().subarray(0, 32).toString('base64url')
  const key = createPrivateKey({ key: { kty: 'OKP', crv: 'Ed25519', x, d }, format: 'jwk' })
  return createPublicKey(key).export({ format: 'jwk' }).x === x ? key : undefined
}

/** Throws RangeError where the bytes end. */
class Strings {
  #rest: Buffer

  constructor(bytes: Buffer) {
    this.#rest = bytes
  }

  next(): Buffer {
    const length = this.#rest.readUInt32BE(0)
    if (this.#rest.length < 4 + length) throw new RangeError('the bytes end too early')
    const found = this.#rest.subarray(4, 4 + length)
    this.#rest = this.#rest.subarray(4 + length)
    return found
  }

  skip(bytes: number): void {
    this.#rest = this.#rest.subarray(bytes)
  }

  get isEmpty(): boolean {
    return this.#rest.length === 0
  }
}

function asString(bytes: Uint8Array): Buffer {
  return Buffer.concat([sshLength(bytes.length), bytes])
}

// ---- The SSH agent (draft-ietf-sshm-ssh-agent) ----------------------------------------------------------------------

const REQUEST_IDENTITIES = 11
const IDENTITIES = 12
const SIGN_REQUEST = 13
const SIGNATURE = 14

const LONGEST_ANSWER = 256 * 1024

interface SshAgent {
  readonly socket: string
  readonly withinMs: number
}

interface AgentKey {
  readonly blob: Buffer
  readonly x: string
  readonly comment: string
}

async function agentSigner(name: string, agent: SshAgent): Promise<PersonSigner> {
  const keys = read(await askAgent(agent, REQUEST_IDENTITIES, IDENTITIES), identitiesIn)
  const isNamed = ({ blob, x, comment }: AgentKey) => [comment, personKey(x).kid, fingerprintOf(blob)].includes(name)
  const [key, ...more] = keys.filter(isNamed)
  if (!key) {
    const names = keys.slice(0, 10).map(({ comment }) => quote(comment))
    const hint =
      keys.length === 0
        ? 'it shows no such keys: add yours with `ssh-add`, or unlock the agent'
        : `give the name of one that it has: ${names.join(', ')}`
    throw new KeyError(`the SSH agent has no Ed25519 key named ${quote(name)}; ${hint}`)
  }
  if (more.length > 0) {
    const names = [key, ...more].map(({ blob }) => `${AGENT}${fingerprintOf(blob)}`)
    throw new KeyError(`the SSH agent has several keys named ${quote(name)}; give ${names.join(' or ')}`)
  }
  return { kid: personKey(key.x).kid, sign: (bytes) => signature(agent, key, bytes) }
}

/** As `ssh-add -l` shows it. */
function fingerprintOf(blob: Buffer): string {
  return `SHA256:${createHash('sha256').update(blob).digest('base64').replaceAll('=', '')}`
}

/** The Ed25519 keys among them. Throws RangeError. */
function identitiesIn(answer: Buffer): readonly AgentKey[] {
  const identities = new Strings(answer.subarray(4))
  const found: AgentKey[] = []
  while (!identities.isEmpty) {
    const [blob, comment] = [identities.next(), identities.next().toString()]
    const parts = new Strings(blob)
    if (parts.next().toString() === 'ssh-ed25519') found.push({ blob, x: parts.next().toString('base64url'), comment })
  }
  return found
}

async function signature(agent: SshAgent, { blob, x }: AgentKey, bytes: Uint8Array): Promise<Uint8Array> {
  const asked = Buffer.concat([asString(blob), asString(bytes), Buffer.alloc(4)])
  const answer = await askAgent(agent, SIGN_REQUEST, SIGNATURE, asked)
  return read(answer, (said) => {
    const parts = new Strings(new Strings(said).next())
    parts.next()
    const signed = parts.next()
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
    if (!verify(null, bytes, key, signed)) throw new RangeError('the signature is not by the key')
    return new Uint8Array(signed)
  })
}

function read<T>(answer: Buffer, as: (answer: Buffer) => T): T {
  try {
    return as(answer)
  } catch {
    throw refusal('answers what no agent should')
  }
}

function refusal(why: string): KeyError {
  return new KeyError(`the SSH agent ${why}; try \`ssh-add -l\`, or give --key FILE`)
}

/** The content of the answer, behind its kind. */
function askAgent(
  { socket, withinMs }: SshAgent,
  kind: number,
  expected: number,
  content: Uint8Array = Buffer.alloc(0),
): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const refuse = (why: string) => reject(refusal(why))
  const agent = connect(socket)
  const timer = setTimeout(() => refuse('does not answer'), withinMs)
  let said: Buffer = Buffer.alloc(0)
  agent.on('error', () => refuse("can't be reached"))
  agent.on('close', () => refuse('closed the connection'))
  agent.on('data', (data) => {
    said = Buffer.concat([said, data as Buffer])
    if (said.length < 4) return
    const length = said.readUInt32BE(0)
    if (length > LONGEST_ANSWER) return refuse('answers too much')
    if (said.length < 4 + length) return
    if (length > 0 && said[4] === expected) resolve(said.subarray(5, 4 + length))
    else refuse('refuses')
  })
  agent.write(asString(Buffer.concat([Buffer.from([kind]), content])))
  return promise.finally(() => {
    clearTimeout(timer)
    agent.destroy()
  })
}
