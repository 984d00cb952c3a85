/** The command line that answers a question to `/policy/v1/…` (src/resources/built-in/policy-questions.ts). */
import { shellWord } from '../../base/problems/fix.ts'
import type { Json } from '../../resources/resource.ts'
import type { FromProcess } from './question-messages.ts'

/** Members of a body, which fits the schema of its question. */
export type QuestionBody = Readonly<Record<string, Json>>

interface QuestionCommand {
  readonly words: readonly string[]
  /** Members that become `--name=value`, by option; a list repeats its option. */
  readonly options?: Readonly<Record<string, string>>
  /** Members that follow the options. */
  readonly places?: readonly string[]
  /** Of JSON, in place of `--format=json`: a record a line. */
  readonly lines?: true
  /** Asks about the folder that POLICIES names, where the versions are, and not about the policy in force. */
  readonly ofFolder?: true
}

/** How many records `decisions` gives without `limit`. */
const RECORDS = 100

function saying(word: string): QuestionCommand {
  return { words: ['policy', word], options: { reason: 'reason', key: 'key' }, places: ['number'], ofFolder: true }
}

function sayingOfGrant(...words: readonly string[]): QuestionCommand {
  return { words, options: { reason: 'reason', finding: 'finding', key: 'key' }, places: ['number'], ofFolder: true }
}

const COMMANDS: Readonly<Record<string, QuestionCommand>> = {
  check: { words: ['policy', 'check'] },
  versions: { words: ['policy', 'history'], ofFolder: true },
  instances: { words: ['policy', 'status'], ofFolder: true },
  proposals: { words: ['policy', 'proposals'], ofFolder: true },
  compare: { words: ['policy', 'diff'], places: ['from', 'to'] },
  version: { words: ['policy', 'export'], options: { from: 'version', proposal: 'proposal' }, places: ['folder'] },
  review: { words: ['policy', 'review'], places: ['number'], ofFolder: true },
  matrix: {
    words: ['policy', 'matrix'],
    options: { role: 'roles', resource: 'resources', relation: 'relation', with: 'with', at: 'at' },
  },
  explain: {
    words: ['policy', 'explain'],
    options: {
      role: 'roles',
      subject: 'subject',
      object: 'object',
      relation: 'relation',
      with: 'with',
      address: 'address',
      becomes: 'becomes',
      at: 'at',
    },
    places: ['method', 'path'],
  },
  'explain-record': { words: ['policy', 'explain'], options: { 'request-id': 'requestId' }, ofFolder: true },
  who: { words: ['access', 'who'], options: { field: 'field', at: 'at' }, places: ['method', 'path'] },
  of: { words: ['access', 'of'], options: { objects: 'objects', at: 'at' }, places: ['subject'] },
  report: { words: ['access', 'report'], options: { at: 'at' } },
  'review-access': {
    words: ['access', 'review'],
    options: { report: 'report', confirm: 'confirm', revoke: 'revoke', reason: 'reason', key: 'key' },
  },
  decisions: {
    words: ['decisions', 'tail'],
    options: {
      lines: 'limit',
      since: 'since',
      until: 'until',
      subject: 'subject',
      role: 'role',
      resource: 'resource',
      action: 'action',
      outcome: 'outcome',
      status: 'status',
      route: 'route',
      rule: 'rule',
      'request-id': 'requestId',
    },
    lines: true,
  },
  names: { words: ['policy', 'names'], options: { policies: 'policies', before: 'before' }, places: ['place'] },
  propose: {
    words: ['policy', 'propose'],
    options: { title: 'title', ticket: 'ticket', 'not-before': 'notBefore', expires: 'expires', key: 'key' },
    places: ['folder'],
    ofFolder: true,
  },
  replay: { words: ['policy', 'replay'], options: { candidate: 'folder', since: 'since' }, places: ['logs'] },
  approve: saying('approve'),
  reject: saying('reject'),
  withdraw: saying('withdraw'),
  grants: { words: ['access', 'grants'], ofFolder: true },
  'approve-grant': sayingOfGrant('access', 'approve'),
  'revoke-grant': sayingOfGrant('access', 'revoke'),
  'break-glass': {
    words: ['policy', 'break-glass'],
    options: { role: 'role', to: 'to', for: 'for', reason: 'reason', key: 'key' },
    ofFolder: true,
  },
  'review-glass': sayingOfGrant('policy', 'review-glass'),
  publish: { words: ['policy', 'publish'], places: ['number'], ofFolder: true },
  block: {
    words: ['policy', 'block'],
    options: { until: 'until', reason: 'reason', key: 'key' },
    places: ['user'],
    ofFolder: true,
  },
  unblock: { words: ['policy', 'unblock'], options: { key: 'key' }, places: ['user'], ofFolder: true },
  matrices: { words: ['matrix', 'show'], places: ['matrices'] },
  'matrix-find': { words: ['matrix', 'find'], options: { role: 'roles' }, places: ['method', 'path'] },
  'matrix-test': {
    words: ['matrix', 'test'],
    options: { policies: 'policies', role: 'roles', resource: 'resources' },
    places: ['matrices'],
  },
  'matrix-coverage': { words: ['matrix', 'coverage'], options: { policies: 'policies' }, places: ['matrices'] },
  'matrix-mutate': {
    words: ['matrix', 'mutate'],
    options: { policies: 'policies', resource: 'resources', only: 'mistakes' },
    places: ['matrices'],
  },
  'matrix-init': {
    words: ['matrix', 'init'],
    options: { policies: 'policies', missing: 'missing', role: 'roles', out: 'out' },
  },
  usage: { words: ['policy', 'usage'], options: { since: 'since', until: 'until' }, places: ['logs'] },
}

/** It is about a draft, and not about the policy in force. */
export function bringsFiles({ files }: QuestionBody): boolean {
  return Object.keys(files ?? {}).length > 0
}

export interface CommandLine {
  /** For the program; nothing of a body can become an option. */
  readonly argv: readonly string[]
  /** For people: the same for a shell, without the format. */
  readonly shown: string
  readonly lines: boolean
  readonly ofFolder: boolean
}

/** `name`: a question that a command answers. */
export function commandOf(name: string, asked: QuestionBody): CommandLine {
  const command = COMMANDS[name]
  if (!command) throw new Error(`no command answers the question ${name}`)
  const { words, options = {}, places = [], lines = false, ofFolder = false } = command
  const body: QuestionBody = lines ? { limit: RECORDS, ...asked } : asked
  const given = Object.entries(options).flatMap(([option, member]) => optionOf(option, body[member]))
  const named = places.flatMap((member) => textsOf(body[member]))
  const end = named.some((one) => one.startsWith('-')) ? ['--'] : []
  return {
    argv: [...words, ...given, '--format=json', '--', ...named],
    shown: ['sallyport', ...words, ...given, ...end, ...named].map(shellWord).join(' '),
    lines,
    ofFolder,
  }
}

export function diffOf(before: string, after: string): readonly string[] {
  return ['policy', 'diff', '--format=json', '--lines', '--', before, after]
}

function optionOf(option: string, value: Json | undefined): readonly string[] {
  if (typeof value === 'boolean') return value ? [`--${option}`] : []
  return textsOf(value).map((one) => `--${option}=${one}`)
}

function textsOf(value: Json | undefined): readonly string[] {
  if (value === undefined) return []
  return Array.isArray(value) ? value.map(String) : [String(value)]
}

export function answerJson({ shown, lines }: CommandLine, { code, stdout }: FromProcess): string {
  const result = lines ? `{"records":[${stdout.trim().split('\n').filter(isRecord).join(',')}]}` : stdout.trim()
  return `{"command":${JSON.stringify(shown)},"findings":${code === 1},"result":${result}}`
}

/** A command that finds none prints an empty list. */
function isRecord(line: string): boolean {
  return line !== '' && line !== '[]'
}
