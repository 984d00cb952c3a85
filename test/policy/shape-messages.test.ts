/** What is said of a key or a value that a file of the policy can't have: one message for one fault. */
import { readdirSync, readFileSync } from 'node:fs'
import { expect } from 'chai'
import { FileError } from '../../src/base/diagnostic.ts'
import { isObject } from '../../src/base/is-object.ts'
import { parseMigration } from '../../src/migrations/file/read-migrations.ts'
import { parsePolicy } from '../../src/policy/parse/parse-policy.ts'
import { RESOURCES } from './fixture.ts'
import { filesOf } from './render.ts'

const ROOT = new URL('../../', import.meta.url)
const KINDS = '{ some, where, relation }'

describe('one fault of a YAML file is one message', () => {
  for (const [file, text, message, advice] of [
    ['ownership.yaml', 'docs: { relations: { a: { trough: team, to: docs, relation: b } } }', 'trough', 'through'],
    ['ownership.yaml', 'docs: { relations: { a: { field: team, equal: subject.team } } }', 'equal', 'equals'],
    ['ownership.yaml', 'docs: { relation: { a: team } }', 'relation', 'relations'],
    ['conditions.yaml', 'office: { networks: [192.0.2.0/24] }', 'networks', 'network'],
    ['conditions.yaml', 'fresh: { signedIn: { withing: 15m } }', 'withing', 'within'],
    ['roles.yaml', 'member: { descripton: A member }', 'descripton', 'description'],
    ['limits.yaml', 'body: 1mb\npages: { default: 1, max: 2 }\nlimits: {}', 'pages', 'page'],
    ['callers.yaml', 'member: { subject: { user: directory } }', 'subject', 'subjects'],
    ['masks.yaml', 'field: [email]', 'field', 'fields'],
  ] as const) {
    it(`a key with a typing error, with the key that is meant: ${message} in ${file}`, () => {
      const [only, ...others] = faultsIn(file, text)
      expect(others).to.deep.equal([])
      expect(only).to.include(`\`${message}\` is not known here`).and.include(`did you mean \`${advice}\`?`)
    })
  }

  it('a role that the subjects of a guarantee name twice, in either form', () => {
    const faults = (subjects: string) =>
      faultsIn('guarantees.yaml', `- { name: one, never: { subjects: ${subjects}, resource: docs, actions: [read] } }`)
    const twice = (name: string) => `\`${name}\` must not name an element twice [yaml-shape]`
    expect(faults('[member, member]')).to.deep.equal([`guarantees.yaml:1:25: ${twice('subjects')}`])
    expect(faults('{ except: [member, member] }')).to.deep.equal([`guarantees.yaml:1:37: ${twice('except')}`])
    expect(faults('[anonymous]')).to.deep.equal([])
  })

  it('an unknown key where another is missing: it may be the missing one', () => {
    expect(faultsIn('roles.yaml', 'member: { titel: A member }')).to.deep.equal([
      'roles.yaml:1:11: `titel` is not known here (one of description, privileged, claims) [yaml-shape]',
    ])
    const two = faultsIn('limits.yaml', 'body: 1mb\npage: { default: 1, max: 2 }\nlimits: { a: { pr: address } }')
    expect(two.map((fault) => fault.split(' ')[1])).to.deep.equal(['`allow`', '`window`', '`pr`'])
  })

  it('a number out of its bounds, with the bound in words', () => {
    const deep = (depth: string) =>
      faultsIn('ownership.yaml', `docs: { relations: { a: { through: up, to: docs, relation: b, depth: ${depth} } } }`)
    expect(deep('9')).to.deep.equal(['ownership.yaml:1:63: `depth` must be at most 8 [yaml-shape]'])
    expect(deep('0')).to.deep.equal(['ownership.yaml:1:63: `depth` must be at least 1 [yaml-shape]'])
    const limits = 'body: 1mb\npage: { default: 1, max: 20000 }\nlimits: {}'
    expect(faultsIn('limits.yaml', limits)).to.deep.equal([
      'limits.yaml:2:21: `max` must be at most 10000 [yaml-shape]',
    ])
  })

  it('a value with more levels than the parser can take', () => {
    for (const many of [5000, 50_000]) {
      const [only, ...others] = faultsIn('roles.yaml', `member: ${'['.repeat(many)}${']'.repeat(many)}`)
      expect(others).to.deep.equal([])
      expect(only).to.match(
        /^roles\.yaml:1:\d+: the value has too many levels of lists and mappings; write it with fewer/,
      )
    }
  })

  it('a step that has two kinds', () => {
    const steps = 'description: x\nresources:\n  notes:\n    - drop: [a]\n      rename: { from: b, to: c }\n'
    const faults: string[] = []
    parseMigration({ name: '0001-x.yaml', text: steps }, '0001-x', ({ message }) => faults.push(message))
    expect(faults).to.deep.equal(['an element of `notes` must not have two members'])
  })

  it('a key of no kind of relation, with all kinds', () => {
    const faults = faultsIn('ownership.yaml', 'docs: { relations: { a: { group: staff } } }')
    expect(faults).to.have.length(1)
    expect(faults[0]).to.include('`group` is not known here (write a field name, { field').and.include(KINDS)
  })

  it('a value that its own kind does not take, instead of a list of kinds', () => {
    const of = (relation: string) => faultsIn('ownership.yaml', `docs: { relations: { a: ${relation} } }`)
    expect(of('{ field: team, equals: caller.team }')).to.deep.equal([
      'ownership.yaml:1:40: `equals` must be `subject.` and the name of an attribute [yaml-shape]',
    ])
    expect(of('{ through: team, to: docs }')).to.deep.equal([
      'ownership.yaml:1:22: `relation` is missing (add it) [yaml-shape]',
    ])
    expect(of('{ field: team, in: [a], before: now }')[0]).to.include(KINDS)
  })

  it('a fault of the syntax, whatever the parser stumbles over behind it', () => {
    for (const text of [
      'docs:\n  relations: { a: [b\njobs: {',
      'docs: {a: b: c}\n  - d\n e: f',
      '"docs: a\n\tb: "c" d',
    ]) {
      expect(faultsIn('ownership.yaml', text), text).to.have.length(1)
    }
  })

  it('without a regular expression: every pattern has words for it', () => {
    const files = ['src/policy/schemas/', 'src/migrations/file/schemas/', 'src/resources/schemas/'].flatMap(
      (folder) => {
        return readdirSync(new URL(folder, ROOT)).map((name) => new URL(folder + name, ROOT))
      },
    )
    const shapes = [...files, new URL('docs/schemas/matrix-case.schema.json', ROOT)]
    const wordless = shapes.flatMap((file) => patternsWithoutTitle(JSON.parse(readFileSync(file, 'utf8'))))
    expect(wordless).to.deep.equal([])
    expect(patternsWithoutTitle({ items: [{ pattern: '^a$' }] })).to.deep.equal(['^a$'])
  })
})

function faultsIn(file: string, text: string): readonly string[] {
  try {
    parsePolicy(filesOf({ 'policy.csv': '', [file]: text }), RESOURCES)
    return []
  } catch (error) {
    if (error instanceof FileError) return error.message.split('\n')
    throw error
  }
}

function patternsWithoutTitle(schema: unknown): readonly string[] {
  if (Array.isArray(schema)) return schema.flatMap(patternsWithoutTitle)
  if (!isObject(schema)) return []
  const own = typeof schema.pattern === 'string' && schema.title === undefined ? [schema.pattern] : []
  return [...own, ...Object.values(schema).flatMap(patternsWithoutTitle)]
}
