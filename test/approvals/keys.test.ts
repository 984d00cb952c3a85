/** The private key of a person: files of OpenSSH, PEM and JWK, and keys in an SSH agent. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { KeyError } from '../../src/identity/keys/key-error.ts'
import { openPersonSigner } from '../../src/identity/keys/person-signer.ts'
import { readPersonKey } from '../../src/policy/parse/person-key.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { program } from '../programs.ts'
import { until } from '../until.ts'
import { newKey, sshBlob } from './public-keys.ts'

const run = promisify(execFile)
const BYTES = Buffer.from('a proposal')

let folder: string
const at = (name: string) => join(folder, name)

/** Makes NAME and NAME.pub, as people do. */
async function keygen(name: string, { type = 'ed25519', passphrase = '', comment = name } = {}): Promise<string> {
  await run('ssh-keygen', ['-q', '-t', type, '-N', passphrase, '-C', comment, '-f', at(name)])
  return at(name)
}

async function publicIn(name: string) {
  const key = readPersonKey(await readFile(`${at(name)}.pub`, 'utf8'))
  if ('fault' in key) throw new Error(key.fault)
  return key
}

async function signs(named: string, name: string, env: NodeJS.ProcessEnv = {}): Promise<boolean> {
  const [signer, { kid, x }] = await Promise.all([openPersonSigner(named, env), publicIn(name)])
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  return signer.kid === kid && verify(null, BYTES, key, await signer.sign(BYTES))
}

/** The one sentence of a refusal. */
async function refusal(named: string, env: NodeJS.ProcessEnv = {}, withinMs?: number): Promise<string> {
  try {
    const signer = await openPersonSigner(named, env, withinMs)
    await signer.sign(BYTES)
    return 'signed'
  } catch (error) {
    if (!(error instanceof KeyError)) throw error
    expect(error.message).to.match(/^[^\n]+; [^\n]+[^.\n]$/)
    return error.message
  }
}

describe('the key of a person in a file', () => {
  before(async () => {
    // ssh-keygen is in its package.
    program('ssh-agent')
    folder = await mkdtemp(join(tmpdir(), 'sp-'))
  })
  after(() => removeFolder(folder))

  it('signs, as `ssh-keygen -t ed25519` writes it', async () => {
    expect(await signs(await keygen('ada'), 'ada')).to.equal(true)
  })

  it('signs, as PEM and as JWK', async () => {
    const { privateKey, line } = newKey()
    await writeFile(at('own.pub'), line)
    await writeFile(at('own.pem'), privateKey.export({ format: 'pem', type: 'pkcs8' }))
    await writeFile(at('own.jwk'), `\n${JSON.stringify(privateKey.export({ format: 'jwk' }))}\n`)
    expect(await signs(at('own.pem'), 'own')).to.equal(true)
    expect(await signs(at('own.jwk'), 'own')).to.equal(true)
  })

  it('is refused with a passphrase, which the SSH agent can ask for', async () => {
    const { privateKey } = newKey()
    const locked = { format: 'pem', type: 'pkcs8', cipher: 'aes-256-cbc', passphrase: 'secret' } as const
    await writeFile(at('locked.pem'), privateKey.export(locked))
    for (const file of [await keygen('locked', { passphrase: 'secret' }), at('locked.pem')]) {
      expect(await refusal(file)).to.equal(
        `the key ${file} has a passphrase; add it to the SSH agent with \`ssh-add ${file}\`, and give --key ssh-agent:NAME`,
      )
    }
  })

  it('is refused where it is of another kind, or no private key', async () => {
    const pem = { format: 'pem', type: 'pkcs8' } as const
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const files: Readonly<Record<string, string | Uint8Array>> = {
      'rsa.pem': rsa.privateKey.export(pem),
      'ec.pem': generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export(pem),
      'x25519.pem': generateKeyPairSync('x25519').privateKey.export(pem),
      'rsa.jwk': JSON.stringify(rsa.privateKey.export({ format: 'jwk' })),
      'public.pem': newKey().pem,
      'public.jwk': newKey().jwk,
      'no.json': '{',
      'null.json': '{"kty":null}',
      empty: '',
      garbage: Uint8Array.from({ length: 4096 }, (_, i) => (i * 193 + 7) % 256),
      'garbage.key': '-----BEGIN OPENSSH PRIVATE KEY-----\nnothing of base64\n-----END OPENSSH PRIVATE KEY-----\n',
    }
    for (const [name, content] of Object.entries(files)) await writeFile(at(name), content)
    const names = [...Object.keys(files), 'ada.pub']
    for (const file of [
      ...names.map(at),
      await keygen('old', { type: 'rsa' }),
      await keygen('ecdsa', { type: 'ecdsa' }),
    ]) {
      expect(await refusal(file)).to.equal(
        `${file} is not a private Ed25519 key; name a file with one, as made by \`ssh-keygen -t ed25519\``,
      )
    }
  })

  it('is refused where there is no such file, or a folder', async () => {
    expect(await refusal(at('nowhere'))).to.equal(
      `the key ${at('nowhere')} can't be read (no such file or directory); name a readable file`,
    )
    expect(await refusal(folder)).to.equal(`the key ${folder} can't be read (it is a folder); name a readable file`)
  })

  it('is refused in one sentence wherever it is cut, and wherever a byte of it changed', async () => {
    const text = await readFile(await keygen('whole'), 'utf8')
    const [, encoded = ''] = /-----\n([^-]+)-----/.exec(text) ?? []
    const bytes = Buffer.from(encoded, 'base64')
    const written = (content: Buffer) =>
      `-----BEGIN OPENSSH PRIVATE KEY-----\n${content.toString('base64')}\n-----END OPENSSH PRIVATE KEY-----\n`
    const counts = { refused: 0, signed: 0 }
    const tried = async (content: string | Buffer) => {
      await writeFile(at('part'), content)
      const said = await refusal(at('part'))
      if (said !== 'signed') counts.refused += 1
      // What is left out or changed may be the comment, or fill up the last block.
      else if (await signs(at('part'), 'whole')) counts.signed += 1
      else throw new Error('the key is another one')
    }
    for (let i = 0; i < text.length; i++) await tried(text.slice(0, i))
    for (let i = 0; i < bytes.length; i++) await tried(written(bytes.subarray(0, i)))
    expect(counts.refused).to.be.greaterThan(bytes.length)
    counts.refused = 0
    for (let i = 0; i < bytes.length; i++) {
      const changed = Buffer.from(bytes)
      changed[i] = (changed[i] ?? 0) ^ 0x80
      await tried(written(changed))
    }
    expect(counts.refused).to.be.greaterThan(100)
    expect(counts.signed).to.be.greaterThan(0)
  })
})

describe('the key of a person in an SSH agent', () => {
  let agent: ChildProcess
  let env: { SSH_AUTH_SOCK: string }

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sp-'))
    env = { SSH_AUTH_SOCK: at('agent') }
    agent = spawn(program('ssh-agent'), ['-D', '-a', env.SSH_AUTH_SOCK], { stdio: 'ignore' })
    await until(() =>
      add('-l').then(
        () => true,
        (error) => String(error.stdout).includes('no identities'),
      ),
    )
    await keygen('ada', { comment: 'ada@laptop', passphrase: '' })
    await keygen('two', { comment: 'twice' })
    await keygen('three', { comment: 'twice' })
    await keygen('old', { type: 'rsa', comment: 'old@laptop' })
    for (const name of ['ada', 'two', 'three', 'old']) await add(at(name))
  })
  after(async () => {
    agent.kill()
    await removeFolder(folder)
  })

  const add = (...args: readonly string[]) => run('ssh-add', [...args], { env: { ...process.env, ...env } })
  const fingerprintOf = async (name: string) => (await run('ssh-keygen', ['-lf', at(name)])).stdout.split(' ')[1]

  it('signs, named by its comment, by its fingerprint as `ssh-add -l` shows it, or by its thumbprint', async () => {
    const { kid } = await publicIn('ada')
    for (const name of ['ada@laptop', await fingerprintOf('ada'), kid]) {
      expect(await signs(`ssh-agent:${name}`, 'ada', env), name).to.equal(true)
    }
  })

  it('is refused where it has another name, with the names that there are', async () => {
    const said = await refusal('ssh-agent:bob@laptop', env)
    expect(said).to.match(/^the SSH agent has no Ed25519 key named bob@laptop; give the name of one that it has: /)
    expect(said).to.include('ada@laptop').and.not.include('old@laptop')
    expect(await refusal('ssh-agent:old@laptop', env)).to.include('no Ed25519 key named old@laptop')
    expect(await refusal('ssh-agent:', env)).to.include('no Ed25519 key named ""')
  })

  it('is refused where two have its name, and then named by its fingerprint', async () => {
    const names = await Promise.all(['two', 'three'].map(fingerprintOf))
    const said = await refusal('ssh-agent:twice', env)
    expect(said).to.match(
      /^the SSH agent has several keys named twice; give ssh-agent:SHA256:\S+ or ssh-agent:SHA256:\S+$/,
    )
    for (const name of names) expect(said).to.include(`ssh-agent:${name}`)
    expect(await signs(`ssh-agent:${names[1]}`, 'three', env)).to.equal(true)
  })

  it('is refused while the agent is locked, before it is named and after', async () => {
    const signer = await openPersonSigner('ssh-agent:ada@laptop', env)
    await lock('-x')
    expect(await refusal('ssh-agent:ada@laptop', env)).to.equal(
      'the SSH agent has no Ed25519 key named ada@laptop; ' +
        'it shows no such keys: add yours with `ssh-add`, or unlock the agent',
    )
    expect(await signer.sign(BYTES).catch(String)).to.include('the SSH agent refuses; try `ssh-add -l`')
    await lock('-X')
    expect(await signs('ssh-agent:ada@laptop', 'ada', env)).to.equal(true)
  })

  /** `ssh-add -x` asks for a password, by the program that SSH_ASKPASS names. */
  async function lock(flag: '-x' | '-X'): Promise<void> {
    await writeFile(at('ask'), '#!/bin/sh\necho secret\n', { mode: 0o700 })
    const asking = { SSH_ASKPASS: at('ask'), SSH_ASKPASS_REQUIRE: 'force' }
    await run('ssh-add', [flag], { env: { ...process.env, ...env, ...asking } })
  }

  it('is refused without an agent, where its socket is gone, is a file, or has no place', async () => {
    expect(await refusal('ssh-agent:ada')).to.equal(
      'SSH_AUTH_SOCK is not set, so there is no SSH agent; start one, or give --key FILE',
    )
    await writeFile(at('file'), '')
    for (const socket of [at('nowhere'), at('file'), folder, `/tmp/${'long'.repeat(50)}`]) {
      expect(await refusal('ssh-agent:ada', { SSH_AUTH_SOCK: socket }), socket).to.equal(
        "the SSH agent can't be reached; try `ssh-add -l`, or give --key FILE",
      )
    }
  })
})

describe('an SSH agent at fault', () => {
  let server: Server | undefined
  let count = 0

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sp-'))
  })
  afterEach(() => server?.close())
  after(() => removeFolder(folder))

  /** SSH_AUTH_SOCK of an agent that answers each question so. */
  async function agentThat(answer: (socket: Socket, question: number) => void): Promise<NodeJS.ProcessEnv> {
    const path = at(`fake${count++}`)
    server = createServer((socket) => {
      socket.on('error', () => undefined)
      socket.once('data', (data) => answer(socket, Buffer.from(data)[4] ?? 0))
    })
    await new Promise<void>((resolve) => server?.listen(path, resolve))
    return { SSH_AUTH_SOCK: path }
  }

  const KEY = newKey()
  const x = Buffer.from(JSON.parse(KEY.jwk).x, 'base64url')
  const answer = (kind: number, ...parts: readonly Uint8Array[]) =>
    sshBlob(Buffer.concat([Buffer.from([kind]), ...parts]))
  const identities = (...keys: readonly Uint8Array[]) =>
    answer(12, Buffer.from([0, 0, 0, keys.length]), ...keys.map((key) => sshBlob(key, 'ada')))
  const known = identities(sshBlob('ssh-ed25519', x))

  it('that answers byte by byte is understood', async () => {
    const env = await agentThat(async (socket) => {
      for (const byte of known) {
        socket.write(Buffer.from([byte]))
        await new Promise((resolve) => setTimeout(resolve, 2))
      }
    })
    expect(await openPersonSigner('ssh-agent:ada', env)).to.have.property('kid')
  })

  const AT_FAULT = [
    'answers what no agent should',
    'refuses',
    'answers too much',
    'closed the connection',
    'does not answer',
  ]
  const faults: Readonly<Record<string, readonly [said: string, ...answer: readonly (Buffer | 'end')[]]>> = {
    'says nothing': ['does not answer'],
    'stops in the middle': ['does not answer', known.subarray(0, 20)],
    'closes the connection': ['closed the connection', 'end'],
    'closes it in the middle': ['closed the connection', known.subarray(0, 20), 'end'],
    refuses: ['refuses', answer(5)],
    'says an empty word': ['refuses', Buffer.alloc(4)],
    'announces four gigabytes': ['answers too much', Buffer.alloc(4, 255)],
    'answers a web page': ['answers too much', Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')],
    'lists a key that is cut': ['answers what no agent should', identities(sshBlob('ssh-ed25519', x).subarray(0, 30))],
    'lists without an end': ['answers what no agent should', answer(12, Buffer.from([0, 0, 0, 1]), Buffer.alloc(9, 1))],
    'lists a key without a name': [
      'answers what no agent should',
      answer(12, Buffer.from([0, 0, 0, 1]), sshBlob(sshBlob('ssh-ed25519', x))),
    ],
  }
  for (const [what, [said, ...parts]] of Object.entries(faults)) {
    it(`is told of in one sentence: it ${what}`, async () => {
      const env = await agentThat((socket) => {
        for (const part of parts) part === 'end' ? socket.end() : socket.write(part)
      })
      expect(AT_FAULT).to.include(said)
      expect(await refusal('ssh-agent:ada', env, 300)).to.equal(
        `the SSH agent ${said}; try \`ssh-add -l\`, or give --key FILE`,
      )
    })
  }

  it('is told of where it signs something else, or with another key', async () => {
    const wrong: readonly Buffer[] = [
      answer(14, sshBlob(sshBlob('ssh-ed25519', Buffer.alloc(64)))),
      answer(14, sshBlob(sshBlob('ssh-ed25519', Buffer.alloc(63)))),
      answer(14, sshBlob(sshBlob('ssh-ed25519'))),
      answer(14, sshBlob('')),
      answer(14),
    ]
    for (const signature of wrong) {
      const env = await agentThat((socket, question) => socket.write(question === 11 ? known : signature))
      expect(await refusal('ssh-agent:ada', env)).to.include('the SSH agent answers what no agent should')
      server?.close()
    }
  })

  it('may have names that a terminal would obey: they are shown as text', async () => {
    const env = await agentThat((socket) =>
      socket.write(answer(12, Buffer.from([0, 0, 0, 1]), sshBlob(sshBlob('ssh-ed25519', x), '\u001b[2J\nada'))),
    )
    expect(await refusal('ssh-agent:ada', env)).to.include('"\\u{1b}[2J\\u{a}ada"')
  })
})
