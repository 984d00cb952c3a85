/** Each place in the shapes of the policy files is known: a name of the policy may stand there, or none does. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { NAME_PLACES } from '../../src/lsp/names/yaml-slots.ts'
import { ROOT } from '../command.ts'

const SHAPES = join(ROOT, 'src/policy/schemas')

/** Texts, names of their own, and values that aren't names of the policy. */
const NO_NAMES: Readonly<Record<string, readonly string[]>> = {
  'roles.yaml': ['* claims *', '* description'],
  'ownership.yaml': ['* relations * after', '* relations * before', '* relations * equals', '* relations * in *'],
  'conditions.yaml': ['* days', '* from', '* network *', '* signedIn acr *', '* signedIn within', '* to', '* zone'],
  'limits.yaml': ['answer', 'body', 'limits * #', 'limits * window', 'object'],
  'guarantees.yaml': ['* name'],
  'callers.yaml': ['* actions * * #', '* addresses *', '* conditions *', '* subjects * #'],
  'approvals.yaml': [
    ...[
      'break-glass for',
      'break-glass from *',
      'break-glass review',
      'requests roles * for',
      'requests roles * from *',
    ],
    ...['needs blocks from *', 'needs narrows from *', 'needs widens from *'],
    ...['needs touches * file *', 'needs touches * from *'],
    ...['people * #', 'people * groups *', 'people * keys *', 'people * user'],
  ],
  'subscriptions.yaml': ['* #', '* filter', '* key', '* url'],
}

interface Shape {
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, Shape>>
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, Shape>>
  readonly additionalProperties?: Shape | boolean
  readonly items?: Shape
  readonly oneOf?: readonly Shape[]
}

describe('the places of names in policy files', () => {
  const files = readdirSync(SHAPES).map((name) => name.replace('.schema.json', '.yaml'))

  for (const file of files) {
    it(`are known: ${file}`, () => {
      const known = [...(NAME_PLACES[file] ?? []).map(({ path }) => path), ...(NO_NAMES[file] ?? [])]
      expect([...new Set(pathsOf(shapeOf(file)))].toSorted()).to.deep.equal([...new Set(known)].toSorted())
    })
  }

  it('of all files are looked at', () => {
    expect(files).to.include.members(Object.keys(NAME_PLACES))
  })

  it('would be missed if a shape had a new one', () => {
    const shape: Shape = { type: 'object', properties: { a: { type: 'array', items: { type: 'string' } } } }
    expect(pathsOf({ ...shape, additionalProperties: { oneOf: [{ type: 'string' }] } })).to.deep.equal([
      'a *',
      '* #',
      '*',
    ])
  })
})

function shapeOf(file: string): Shape {
  return JSON.parse(readFileSync(join(SHAPES, file.replace('.yaml', '.schema.json')), 'utf8'))
}

/** Where texts may stand, as yaml-slots.ts writes places. */
function pathsOf(root: Shape, shape: Shape = root, path: readonly string[] = []): readonly string[] {
  const { $ref, properties = {}, additionalProperties, items, oneOf = [], type } = shape
  const within = (inner: Shape, ...step: readonly string[]) => pathsOf(root, inner, [...path, ...step])
  const any = typeof additionalProperties === 'object' ? additionalProperties : undefined
  return [
    ...($ref ? within(root.$defs?.[$ref.replace('#/$defs/', '')] ?? {}) : []),
    ...oneOf.flatMap((one) => within(one)),
    ...Object.entries(properties).flatMap(([key, inner]) => within(inner, key)),
    ...(any ? [[...path, '*', '#'].join(' '), ...within(any, '*')] : []),
    ...(items ? within(items, '*') : []),
    ...([type].flat().includes('string') ? [path.join(' ')] : []),
  ]
}
