/** approvals.yaml: the keys of people in each form, and one sentence with its place for each fault. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { stringify } from 'yaml'
import { FileError } from '../../src/base/diagnostic.ts'
import type { Approvals } from '../../src/decide/policy.ts'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import { readPersonKey } from '../../src/policy/parse/person-key.ts'
import { readPolicyFiles, revisionOf } from '../../src/policy/policy-files.ts'
import { removeFolder } from '../ends-with-tests.ts'
import { RESOURCES } from '../policy/fixture.ts'
import { filesOf } from '../policy/render.ts'
import { formsOfBytes, newKey, sshBlob } from './public-keys.ts'

const [ADA, ZOE, BOB] = [newKey(), newKey(), newKey()]
const ROLES = 'admin: { description: Runs it. }\nreader: { description: Reads it. }\n'
const NEEDS = 'needs: { widens: { people: 1 } }\n'

/** Ada is in security, Zoe in security and orders, Bob in no group. */
const PEOPLE = {
  ada: { keys: [ADA.line], groups: ['security'] },
  zoe: { keys: [ZOE.pem], groups: ['security', 'orders'] },
  bob: { keys: [BOB.jwk] },
}

const THREE = stringify({ people: PEOPLE }, { lineWidth: 0 })

function approvalsIn(text: string): Approvals {
  const { approvals } = parsePolicy(filesOf({ 'approvals.yaml': text, 'roles.yaml': ROLES }), RESOURCES)
  if (!approvals) throw new Error('the policy has no approvals')
  return approvals
}

function faultsIn(text: string): readonly string[] {
  try {
    approvalsIn(text)
    return []
  } catch (error) {
    if (!(error instanceof FileError)) throw error
    return error.message.split('\n')
  }
}

/** A file with these keys of Ada's; the first one is on line 3. */
function withKeys(...keys: readonly string[]): string {
  const elements = keys.map((key) => `      - ${JSON.stringify(key)}\n`).join('')
  return `people:\n  ada:\n    keys:\n${elements}  zoe: { keys: [${ZOE.line}] }\n${NEEDS}`
}

describe('approvals.yaml', () => {
  it('has people with keys and groups, and needs; one person approves where it says nothing', () => {
    const { people, ...needs } = approvalsIn(
      `${THREE}needs:\n  widens: { people: 2, from: [security] }\n  touches:\n` +
        '    - { resource: docs, people: 1, from: [orders] }\n    - { file: [roles.yaml, blocked.txt], people: 1 }\n',
    )
    expect([...people].map(([name, { groups }]) => [name, groups])).to.deep.equal([
      ['ada', ['security']],
      ['zoe', ['security', 'orders']],
      ['bob', []],
    ])
    expect(needs).to.deep.equal({
      widens: { people: 2, from: ['security'] },
      narrows: { people: 1 },
      blocks: { people: 1 },
      touches: [
        { resource: 'docs', people: 1, from: ['orders'] },
        { file: ['roles.yaml', 'blocked.txt'], people: 1 },
      ],
      breakGlass: undefined,
      requests: new Map(),
    })
  })

  it('says who gives roles for a time, which, and for how long', () => {
    const { breakGlass, requests } = approvalsIn(
      `${THREE}${NEEDS}break-glass: { from: [orders], roles: [admin], for: 2h, review: 1d }\n` +
        'requests: { roles: { reader: { for: 90s, people: 1, from: [security] }, admin: { for: 30m, people: 2 } } }\n',
    )
    expect(breakGlass).to.deep.include({ from: ['orders'], roles: ['admin'], forMs: 7_200_000, reviewMs: 86_400_000 })
    expect([...requests].map(([role, { people, from, forMs }]) => [role, people, from, forMs])).to.deep.equal([
      ['reader', 1, ['security'], 90_000],
      ['admin', 2, undefined, 1_800_000],
    ])
  })

  const unfit: Readonly<Record<string, readonly [text: string, fault: RegExp]>> = {
    'a role that nobody declared': [
      'break-glass: { from: [orders], roles: [admim], for: 2h, review: 1d }\n',
      /roles\.yaml declares no role `admim`.*unknown-role/,
    ],
    'a role for which nobody can ask': [
      'requests: { roles: { nothing: { for: 1h, people: 1 } } }\n',
      /roles\.yaml declares no role `nothing`.*unknown-role/,
    ],
    'a group of nobody': [
      'break-glass: { from: [oncall], roles: [admin], for: 2h, review: 1d }\n',
      /nobody in `people` is in the group `oncall`/,
    ],
    'more people than there are': [
      'requests: { roles: { admin: { for: 1h, people: 3 } } }\n',
      /3 people must approve beside the author, and only 3 are in `people`/,
    ],
    'requests without an approval': ['requests: { roles: { admin: { for: 1h, people: 0 } } }\n', /people/],
    'a time without a unit': ['break-glass: { from: [orders], roles: [admin], for: 2, review: 1d }\n', /for/],
    'a time that is no number': ['requests: { roles: { admin: { for: soon, people: 1 } } }\n', /as in 90s, 10m/],
  }
  for (const [what, [text, fault]] of Object.entries(unfit)) {
    it(`refuses ${what} with its place`, () => {
      const found = faultsIn(`${THREE}${NEEDS}${text}`)
      expect(found).to.have.length(1)
      expect(found[0])
        .to.match(/^approvals\.yaml:\d+:\d+: /)
        .and.to.match(fault)
    })
  }

  it('refuses break-glass where nobody else can review it', () => {
    const one = `people: { ada: { keys: [${ADA.line}], groups: [oncall] } }\nneeds: { widens: { people: 0 } }\n`
    const found = faultsIn(`${one}break-glass: { from: [oncall], roles: [admin], for: 1h, review: 1d }\n`)
    expect(found.join()).to.contain('somebody else must review it, and there is nobody else')
  })

  it('takes a key as a line of OpenSSH, with a comment or without, as PEM and as JWK: the same key', () => {
    const { jwk, line, pem } = ADA
    const forms = [
      line,
      `${line} ada@laptop`,
      `${line}  Ada's key, 2026 \n`,
      pem,
      ` ${pem}\n`,
      pem.replaceAll('\n', ' '),
      pem.replaceAll('\n', '\r\n'),
      jwk,
      ` ${jwk} `,
    ]
    const read = forms.map((form) => readPersonKey(form))
    expect(new Set(read.map((key) => JSON.stringify(key)))).to.have.length(1)
    expect(read[0]).to.have.property('x', JSON.parse(jwk).x)
    expect(readPersonKey(ZOE.line)).not.to.deep.equal(read[0])
  })

  it('has the thumbprint of RFC 8037 appendix A.3 for a key', () => {
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }
    expect(readPersonKey(JSON.stringify(jwk))).to.include({ kid: 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k' })
  })

  it('may have PEM in quotes, whose lines YAML joins', () => {
    const text = `people:\n  ada: { keys: ["${ADA.pem.trim().replaceAll('\n', '\n    ')}"] }\n  zoe: { keys: [${ZOE.line}] }\n${NEEDS}`
    expect(approvalsIn(text).people.get('ada')?.keys).to.deep.equal([readPersonKey(ADA.line)])
  })

  it('may give a person several keys', () => {
    expect(approvalsIn(withKeys(ADA.line, BOB.pem)).people.get('ada')?.keys).to.have.length(2)
  })

  it('takes names that objects have from birth for names', () => {
    const names = ['constructor', 'toString', 'hasOwnProperty']
    const keys = [ADA, ZOE, BOB].map(({ line }) => line)
    const people = Object.fromEntries(names.map((name, i) => [name, { keys: [keys[i]], groups: ['valueOf'] }]))
    const needs = { widens: { people: 2, from: ['valueOf'] } }
    expect([...approvalsIn(stringify({ people, needs })).people.keys()]).to.deep.equal(names)
  })

  it('may begin with a byte order mark', () => {
    expect(approvalsIn(`\uFEFF${THREE}${NEEDS}`).people.size).to.equal(3)
  })

  it('is read at once with 2,000 people of one group', () => {
    const keyOf = (i: number) => formsOfBytes(Buffer.alloc(32, `${i} is the number of a person.....`)).line
    const people = Array.from({ length: 2000 }, (_, i) => [`p${i}`, { keys: [keyOf(i)], groups: ['all'] }] as const)
    const text = stringify({ people: Object.fromEntries(people), needs: { widens: { people: 100, from: ['all'] } } })
    const start = performance.now()
    expect(approvalsIn(text).people.size).to.equal(2000)
    expect(performance.now() - start).to.be.lessThan(5000)
  })
})

const RSA = generateKeyPairSync('rsa', { modulusLength: 2048 })
const P256 = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const X25519 = generateKeyPairSync('x25519')
const pemOf = ({ publicKey }: { readonly publicKey: KeyObject }) =>
  publicKey.export({ format: 'pem', type: 'spki' }).toString()
const privatePem = (key: KeyObject) => key.export({ format: 'pem', type: 'pkcs8' }).toString()
const blob = (...parts: readonly (string | Uint8Array)[]) => sshBlob(...parts).toString('base64')

describe('a key of approvals.yaml', () => {
  const bytes = Buffer.from(JSON.parse(ADA.jwk).x, 'base64url')
  const wrong: Readonly<Record<string, readonly [text: string, fault: string]>> = {
    'the private half, as PEM': [privatePem(ADA.privateKey), 'a private key'],
    'the private half, as OpenSSH writes it': [
      '-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\n-----END OPENSSH PRIVATE KEY-----\n',
      'a private key',
    ],
    'the private half, as JWK': [JSON.stringify(ADA.privateKey.export({ format: 'jwk' })), 'a private key'],
    'the private half of a long RSA key': [
      privatePem(generateKeyPairSync('rsa', { modulusLength: 4096 }).privateKey),
      'a private key',
    ],
    'an RSA key': [pemOf(RSA), 'not an Ed25519 key'],
    'an RSA key of OpenSSH': [`ssh-rsa ${blob('ssh-rsa', 'abc', 'def')} ada`, 'of the kind ssh-rsa, not ssh-ed25519'],
    'an ECDSA key': [pemOf(P256), 'not an Ed25519 key'],
    'an ECDSA key of OpenSSH': [
      `ecdsa-sha2-nistp256 ${blob('ecdsa-sha2-nistp256')} ada`,
      'of the kind ecdsa-sha2-nistp256, not ssh-ed25519',
    ],
    'a key of a security token': [
      `sk-ssh-ed25519@openssh.com ${blob('sk-ssh-ed25519@openssh.com', bytes, 'ssh:')} ada`,
      'of the kind sk-ssh-ed25519@openssh.com, not ssh-ed25519',
    ],
    'a key for exchanges': [pemOf(X25519), 'not an Ed25519 key'],
    'a line that is cut': [ADA.line.slice(0, -4), 'cut or changed'],
    'a line that is cut in a byte': [ADA.line.slice(0, -1), 'cut or changed'],
    'a line with a character too many': [`${ADA.line}A`, 'cut or changed'],
    'a line with a character that base64 has not': [ADA.line.replace('AAAAC3', 'AAAA!C3'), 'cut or changed'],
    'a line with another kind inside': [`ssh-ed25519 ${blob('ssh-ed25518', bytes)}`, 'cut or changed'],
    'a line without a key': ['ssh-ed25519 ', 'not a public key'],
    'two lines': [`${ADA.line}\n${BOB.line}`, 'more than one line'],
    'two keys in one PEM': [`${ADA.pem}${BOB.pem}`, 'not a public key'],
    'PEM with something below': [`${ADA.pem}and more`, 'not a public key'],
    'PEM that is cut': [ADA.pem.replace('MCow', ''), 'not a public key'],
    'JWK that is cut': [ADA.jwk.slice(0, -1), 'not a public key'],
    'JWK with a short key': [JSON.stringify({ kty: 'OKP', crv: 'Ed25519', x: 'AAAA' }), 'not a public key'],
    'JWK of another curve': [ADA.jwk.replace('Ed25519', 'Ed448'), 'not a public key'],
    'a symmetric JWK': ['{"kty":"oct","k":"AAAA"}', 'not a public key'],
    'a line of authorized_keys with options': [`restrict,pty ${ADA.line}`, 'not a public key'],
    'a word': ['ada', 'not a public key'],
    'the path of a file': ['~/.ssh/id_ed25519.pub', 'not a public key'],
    'characters that a terminal obeys': ['\u001b[2Jssh-rsa x', 'not a public key'],
  }
  for (const [what, [text, fault]] of Object.entries(wrong)) {
    it(`is told in one sentence: ${what}`, () => {
      const [only, ...others] = faultsIn(withKeys(text))
      expect(others).to.deep.equal([])
      expect(only).to.match(/^approvals\.yaml:4:9: the key is /)
      expect(only)
        .to.include(`the key is ${fault} (`)
        .and.match(/\[approvals-key\]$/)
    })
  }

  it('is refused where anybody can sign for it: the points of small order, in each form', () => {
    const ys = [
      '0000000000000000000000000000000000000000000000000000000000000000',
      '0100000000000000000000000000000000000000000000000000000000000000',
      '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
      'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
      'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
      'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
      'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
    ]
    for (const y of ys) {
      const key = Buffer.from(y, 'hex')
      const negative = Buffer.concat([key.subarray(0, 31), Buffer.from([(key[31] ?? 0) | 0x80])])
      for (const { line, pem, jwk } of [key, negative].map(formsOfBytes)) {
        for (const form of [line, pem, jwk]) {
          expect(faultsIn(withKeys(form)), form).to.have.length(1)
          expect(faultsIn(withKeys(form))[0]).to.include('the key is one that anybody can sign with')
        }
      }
    }
  })

  it('is refused when it stands twice, for one person or for two, in whatever form', () => {
    expect(faultsIn(withKeys(ADA.line, ADA.pem))).to.deep.equal([
      'approvals.yaml:5:9: the key is written twice (keep one of them) [approvals-key]',
    ])
    expect(faultsIn(withKeys(ADA.line, ADA.line))).to.deep.equal([
      'approvals.yaml:3:5: `keys` must not name an element twice [yaml-shape]',
    ])
    expect(faultsIn(withKeys(ADA.jwk, ZOE.jwk))).to.deep.equal([
      'approvals.yaml:6:17: the key is also that of `ada` (give each person a key of their own) [approvals-key]',
    ])
  })
})

describe('a faulty approvals.yaml', () => {
  const needs = (text: string) => `${THREE}needs:\n  widens: { people: 1 }\n${text}`
  const said: Readonly<Record<string, readonly [text: string, ...said: string[]]>> = {
    'nothing in it': ['', '1:1: `people` is missing', '1:1: `needs` is missing'],
    'a list': ['- ada\n', '1:1: the file must be a mapping (`name: value`)'],
    'no needs': [THREE, '1:1: `needs` is missing'],
    'nobody in it': [`people: {}\n${NEEDS}`, '1:1: `people` must not be empty'],
    'a person without a key': [`people: { ada: {} }\n${NEEDS}`, '1:11: `keys` is missing'],
    'a person with an empty list of keys': [
      `people: { ada: { keys: [] } }\n${NEEDS}`,
      '1:18: `keys` must not be empty',
    ],
    'a number for a key': [`people: { ada: { keys: [7] } }\n${NEEDS}`, '1:25: an element of `keys` must be a text'],
    'an unknown key': [needs('limit: 1\n'), '21:1: `limit` is not known here'],
    'a typing error': [needs('  narrow: { people: 1 }\n'), '21:3: `narrow` is not known here'],
    'no number of people': [needs('  blocks: { from: [security] }\n'), '21:3: `people` is missing'],
    'less than nobody': [needs('  blocks: { people: -1 }\n'), '21:13: `people` must be at least 0'],
    'half a person': [needs('  blocks: { people: 1.5 }\n'), '21:13: `people` must be a whole number'],
    'more people than a policy may ask for': [
      needs('  blocks: { people: 101 }\n'),
      '21:13: `people` must be at most 100',
    ],
    'a name with a space': [`people: { a b: { keys: [x] } }\n${NEEDS}`, '1:11: the name `a b` must be 1 to 64 letters'],
    'a name of another script': [`people: { аda: { keys: [x] } }\n${NEEDS}`, '1:11: the name `аda` must be 1 to 64'],
    'the name __proto__': [`people: { __proto__: { keys: [x] } }\n${NEEDS}`, '1:11: the name `__proto__` must be'],
    'a number for a name': [`people: { 1: { keys: [x] } }\n${NEEDS}`, '1:11: the name `1` must be 1 to 64 letters'],
    'a name twice': [
      `people:\n  ada: { keys: [${ADA.line}] }\n  "ada": { keys: [${BOB.line}] }\n${NEEDS}`,
      '3:3: a key is repeated',
    ],
    'a name twice, once as another type': [
      `people:\n  "true": { keys: [${ADA.line}] }\n  true: { keys: [${BOB.line}] }\n${NEEDS}`,
      '3:3: a key is repeated',
    ],
    'an anchor with its alias': [
      `people: { ada: &a { keys: [${ADA.line}] }, zoe: *a }\n${NEEDS}`,
      '1:118: aliases (`*name`) are not accepted',
    ],
    'an unknown group': [
      needs('  narrows: { people: 1, from: [secrity] }\n'),
      '21:32: nobody in `people` is in the group `secrity` (one of security, orders; did you mean `security`?)',
    ],
    'a group with a name of Object': [
      needs('  narrows: { people: 1, from: [constructor] }\n'),
      '21:32: nobody in `people` is in the group `constructor`',
    ],
    'a need that nobody can meet': [
      needs('  narrows: { people: 2, from: [orders] }\n'),
      '21:14: 2 people must approve beside the author, and only 1 is in `orders` (lower the number, or add people)',
    ],
    'a need that nobody can meet, as the author does not count': [
      needs('  narrows: { people: 3 }\n'),
      '21:14: 3 people must approve beside the author, and only 3 are in `people`',
    ],
    'one person who would have to approve their own change': [
      `people: { ada: { keys: [${ADA.line}] } }\nneeds: { widens: { people: 1 }, narrows: { people: 0 }, blocks: { people: 0 } }\n`,
      '2:20: 1 person must approve beside the author, and only 1 is in `people`',
    ],
    'touches of nothing': [
      needs('  touches: [{ people: 1 }]\n'),
      '21:13: the need is about either a `resource` or a `file` (write one of the two)',
    ],
    'touches of a resource and a file': [
      needs('  touches: [{ resource: docs, file: [roles.yaml], people: 1 }]\n'),
      '21:13: the need is about either a `resource` or a `file`',
    ],
    'touches of an unknown resource': [
      needs('  touches: [{ resource: doks, people: 1 }]\n'),
      '21:15: no schema declares the resource `doks` (one of docs, jobs, system/health; did you mean `docs`?)',
    ],
    'touches of an unknown file': [
      needs('  touches: [{ file: [roles.yaml, role.yaml], people: 1 }]\n'),
      '21:34: `role.yaml` is no file of a policy',
    ],
    'touches of no file': [needs('  touches: [{ file: [], people: 1 }]\n'), '21:15: `file` must not be empty'],
    'a syntax error': [`${NEEDS}people: {\n`, '3:1: '],
  }
  for (const [what, [text, ...sentences]] of Object.entries(said)) {
    it(`is told with the place: ${what}`, () => {
      const faults = faultsIn(text)
      expect(faults, faults.join('\n')).to.have.length(sentences.length)
      for (const [i, sentence] of sentences.entries()) expect(faults[i]).to.include(`approvals.yaml:${sentence}`)
    })
  }

  it('tells all its faults at once', () => {
    const text = needs('  narrows: { people: 9 }\n  touches:\n    - { people: 1 }\n    - { resource: x, people: 0 }\n')
    const faults = faultsIn(text.replace(ADA.line, 'ada'))
    expect(faults.map((fault) => /\[(.*)\]$/.exec(fault)?.[1])).to.deep.equal([
      'approvals-key',
      'approvals-unmet',
      'approvals-touch',
      'unknown-resource',
    ])
  })
})

describe('the revision of a policy', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sallyport-'))
    for (const [name, file] of Object.entries(filesOf({}))) await writeFile(join(folder, name), file.text)
  })
  afterEach(() => removeFolder(folder))

  const blocked = { name: 'blocked.txt', text: '' }

  it('is without approvals.yaml as it was before there was such a file', async () => {
    expect(revisionOf(await readPolicyFiles(folder), blocked)).to.equal(revisionOf(filesOf({}), blocked))
    expect(revisionOf(filesOf({}), blocked)).to.equal('3eca30d8eb10c684')
  })

  it('is another one with approvals.yaml, and with each other text of it', async () => {
    const revisions = [revisionOf(await readPolicyFiles(folder), blocked)]
    for (const text of ['', `${THREE}${NEEDS}`, `# a comment\n${THREE}${NEEDS}`]) {
      await writeFile(join(folder, 'approvals.yaml'), text)
      const files = await readPolicyFiles(folder)
      expect(files['approvals.yaml']?.text).to.equal(text)
      revisions.push(revisionOf(files, blocked))
    }
    expect(new Set(revisions)).to.have.length(4)
  })

  it('has no files with names that only look like it', async () => {
    await writeFile(join(folder, 'approval.yaml'), '')
    expect(await readPolicyFiles(folder).catch(String)).to.include('rename it to `approvals.yaml`')
  })
})
