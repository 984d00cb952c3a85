/**
 * The parsers of what strangers send and of what people write, each with what it must keep for any bytes: it throws only
 * its own error, and what it took is what is written again. A parser throws here for a fault.
 */
import { join } from 'node:path'
import { expect } from 'chai'
import { decodeProtectedHeader } from 'jose'
import { FileError } from '../../src/base/diagnostic.ts'
import { pathOfPointer, pointerOfPath } from '../../src/base/json-pointer.ts'
import { Problem } from '../../src/base/problems/problem.ts'
import {
  checkpointText,
  keyText,
  openNote,
  readCheckpoint,
  readKeyText,
} from '../../src/decision-log/tree/signed-note.ts'
import { readCredentials } from '../../src/identity/caller.ts'
import { readApiKey } from '../../src/identity/directory/api-key.ts'
import { readCompactToken } from '../../src/identity/tokens/compact-token.ts'
import { blockedLine, parseBlocked } from '../../src/policy/parse/parse-blocked.ts'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import { type PolicyFiles, readPolicyFiles } from '../../src/policy/policy-files.ts'
import { parseStrictJson } from '../../src/resources/json/strict-json.ts'
import { loadResources } from '../../src/resources/load/load-resources.ts'
import type { Json, Resources } from '../../src/resources/resource.ts'
import { readQuery } from '../../src/resources/routing/query.ts'
import { decode, readTarget } from '../../src/resources/routing/request-target.ts'
import { Cursors } from '../../src/server/routes/cursor.ts'
import { parseJsonPatch } from '../../src/server/routes/json-patch.ts'
import { readProof } from '../../src/tools/log-proof/proof.ts'
import { lineOf, parseMatrix, readTable } from '../../src/tools/matrix/read/matrix-file.ts'

const ROOT = new URL('../..', import.meta.url).pathname

/** The example of golang.org/x/mod/sumdb/note. */
const NEUMANN = 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW'

export interface Parser {
  /** A folder of test/fuzz/corpus/. */
  readonly name: string
  /** Throws for a fault; says whether the parser took the bytes. */
  readonly keeps: (bytes: Buffer) => boolean
  /** Pieces that mean something in this language. */
  readonly words: readonly string[]
  /** Beside the corpus, files of the repository. */
  readonly files: readonly string[]
}

export async function openParsers(): Promise<readonly Parser[]> {
  const [files, resources] = await Promise.all([
    readPolicyFiles(join(ROOT, 'policies')),
    loadResources(join(ROOT, 'schemas')),
  ])
  const parser = (name: string, keeps: Parser['keeps'], words: string, more: readonly string[] = []): Parser => ({
    name,
    keeps,
    words: words.split(' '),
    files: more,
  })
  return [
    parser('authorization', authorization, 'Bearer bearer = . , Basic'),
    parser('token', token, '. = e30 eyJ AA -_ +/ bnVsbA'),
    parser('api-key', apiKey, 'sp_ _ 0 l \n'),
    parser('target', target, '/ // ? & = % %2F %00 %c0%af %ed%a0%80 # http:// @ : [::1] * + .. __proto__'),
    parser(
      'json-patch',
      jsonPatch(resources),
      '{ } [ ] " , : "op" "path" "value" "from" /title ~ ~1 /- /0 __proto__ null',
    ),
    parser('pointer', pointer, '/ ~ ~0 ~1 ~01'),
    parser('cursor', cursor(), 'AAAA = - _ + /'),
    parser('policy', policy(files, resources), 'p, g, , " \r \n # > ! + | * any until= deny', ['policies/policy.csv']),
    parser('blocked', blocked, 'user: until= # " \\u0000 \r \n ; ,'),
    parser('matrix', matrix, 'method path object , ; " \r \n [own] GET| 200', ['test/matrix/accounts.csv']),
    parser('checkpoint', checkpoint, '\n 0 = + / -'),
    parser('note', note, '\n \n\n — = PeterNeumann'),
    parser('key-text', keyName, '+ = \n AQ=='),
    parser('proof', proof, '\n \n\n extra index 0 = e30= c2sp.org/tlog-proof@v1'),
  ]
}

/** The value, or undefined if the parser refused it with its own error; any other error is a fault. */
function taken<T>(parse: () => T, own: new (...given: never[]) => Error): T | undefined {
  try {
    return parse()
  } catch (error) {
    if (error instanceof own) return undefined
    throw error
  }
}

function authorization(bytes: Buffer): boolean {
  const found = readCredentials(['Host', 'x', 'Authorization', bytes.toString('latin1')])
  if (found.kind !== 'bearer') return false
  expect(readCredentials(['authorization', `Bearer ${found.token}`])).to.deep.equal(found)
  token(Buffer.from(found.token))
  return true
}

function token(bytes: Buffer): boolean {
  const text = bytes.toString('latin1')
  const found = readCompactToken(text)
  if (found.kind === 'faulty') return false
  // What it takes is what the library reads, and each token has one text.
  expect({ ...found.header }).to.deep.equal({ ...decodeProtectedHeader(text) })
  const again = text.split('.').map((part) => Buffer.from(part, 'base64url').toString('base64url'))
  expect(again.join('.')).to.equal(text)
  return true
}

function apiKey(bytes: Buffer): boolean {
  const text = bytes.toString('latin1')
  const found = readApiKey(text)
  if (found) expect(`sp_${found.id}_${found.secret}`).to.equal(text)
  return found !== undefined
}

function target(bytes: Buffer): boolean {
  const text = bytes.toString('latin1')
  const found = readTarget(text)
  if (found instanceof Problem) return false
  const { path, query } = found
  expect(decode(path)).to.be.a('string')
  expect(text.endsWith(query === '' ? path : `${path}?${query}`) || text === `${path}?`).to.equal(true)
  const parameters = taken(() => readQuery(query), Problem)
  if (!parameters) return false
  const again = [...parameters].map((pair) => pair.map(encodeURIComponent).join('=')).join('&')
  expect([...readQuery(again)]).to.deep.equal([...parameters])
  return true
}

function jsonPatch({ byName }: Resources): Parser['keeps'] {
  const notes = byName.get('notes')
  if (!notes) throw new Error('the shipped schemas have no notes')
  return (bytes) => {
    const document = taken(() => parseStrictJson(bytes), Problem) as Json
    if (document === undefined) return false
    const operations = taken(() => parseJsonPatch(document, notes), Problem)
    if (!operations) return false
    const written = (document as readonly { readonly path: string }[]).map(({ path }) => path)
    expect(operations.map(({ path }) => pointerOfPath(path))).to.deep.equal(written)
    return true
  }
}

function pointer(bytes: Buffer): boolean {
  const text = bytes.toString('utf8')
  const path = pathOfPointer(text)
  expect(pathOfPointer(pointerOfPath(path))).to.deep.equal(path)
  expect(pathOfPointer(pointerOfPath([text, text]))).to.deep.equal([text, text])
  return pointerOfPath(path) === text
}

function cursor(): Parser['keeps'] {
  const cursors = new Cursors(Buffer.alloc(32, 7))
  return (bytes) => {
    const text = bytes.toString('utf8')
    const sealed = cursors.seal('list', text)
    expect(cursors.open('list', sealed)).to.equal(text)
    expect(taken(() => cursors.open('another list', sealed), Problem)).to.equal(undefined)
    expect(taken(() => cursors.open('list', bytes.toString('latin1')), Problem)).to.equal(undefined)
    return false
  }
}

function policy(files: PolicyFiles, resources: Resources): Parser['keeps'] {
  const rulesOf = (text: string) =>
    taken(() => parsePolicy({ ...files, 'policy.csv': { name: 'policy.csv', text } }, resources), FileError)
  return (bytes) => {
    const text = bytes.toString('utf8')
    const parsed = rulesOf(text)
    if (!parsed) return false
    // Line ends of Windows say the same.
    const again = rulesOf(text.replaceAll(/\r?\n/g, '\r\n'))
    expect([again?.rules, again?.links]).to.deep.equal([parsed.rules, parsed.links])
    return true
  }
}

function blocked(bytes: Buffer): boolean {
  const parse = (text: string) => taken(() => parseBlocked({ name: 'blocked.txt', text }), FileError)
  const found = parse(bytes.toString('utf8'))
  for (const id of found?.keys() ?? []) expect([...(parse(blockedLine(id))?.keys() ?? [])]).to.deep.equal([id])
  return found !== undefined
}

function matrix(bytes: Buffer): boolean {
  const text = bytes.toString('utf8')
  const lines = text.split(/\r\n?|\n/)
  let faults = 0
  parseMatrix({ name: 'matrix.csv', text }, ({ line, column }) => {
    faults += 1
    expect(line).to.be.within(1, lines.length)
    expect(column).to.be.at.least(1)
  })
  const cellsOf = (source: string) =>
    readTable({ name: 'matrix.csv', text: source }, () => {})?.map((row) => row.map((cell) => cell.text))
  const cells = cellsOf(text)
  if (cells) expect(cellsOf(cells.map(lineOf).join(''))).to.deep.equal(cells)
  return faults === 0
}

function checkpoint(bytes: Buffer): boolean {
  const text = bytes.toString('utf8')
  const found = readCheckpoint(text)
  if (found) expect(checkpointText(found)).to.equal(text)
  return found !== undefined
}

function note(bytes: Buffer): boolean {
  const key = readKeyText(NEUMANN)
  if (!key) throw new Error('the example is no key')
  const text = bytes.toString('utf8')
  const opened = openNote(text, key)
  // The key has signed nothing else.
  if (opened !== undefined) expect(opened).to.match(/^If you think .* problem,\nthen you don't know .* is\.\n$/)
  return opened !== undefined
}

function keyName(bytes: Buffer): boolean {
  const text = bytes.toString('utf8')
  const key = readKeyText(text)
  if (key) expect(keyText(key)).to.equal(text)
  return key !== undefined
}

function proof(bytes: Buffer): boolean {
  const key = readKeyText(NEUMANN)
  if (!key) throw new Error('the example is no key')
  expect(readProof(bytes.toString('utf8'), key)).to.be.a('string')
  return false
}
