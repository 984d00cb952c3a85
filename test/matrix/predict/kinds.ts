/** A resource with a field of every kind that relations can compare, and callers with the attributes for it. */
import { stringify } from 'yaml'
import type { Policy } from '../../../src/decide/policy.ts'
import { parsePolicy } from '../../../src/policy/parse/parse-policy.ts'
import { parseResources } from '../../../src/resources/load/load-resources.ts'
import type { Json } from '../../../src/resources/resource.ts'
import { sampleResources } from '../../../src/tools/matrix/arrange/samples.ts'
import { filesOf } from '../../policy/render.ts'

const TIME = { type: 'string', format: 'date-time', readOnly: true }
const OWN = { id: { type: 'string', readOnly: true }, createdAt: TIME, updatedAt: TIME }
const COLOURS = ['red', 'green', 'blue']

const THINGS = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Thing',
  type: 'object',
  'x-resource': {
    routes: [
      { path: '/things', methods: ['GET', 'POST'] },
      { path: '/things/{id}', methods: ['GET', 'PUT', 'PATCH', 'DELETE'] },
    ],
  },
  properties: {
    ...OWN,
    ownerId: { type: 'string', minLength: 1 },
    members: { type: 'array', items: { type: 'string', minLength: 1 }, maxItems: 2 },
    team: { type: 'string', enum: COLOURS, default: 'red' },
    spare: { type: 'string', enum: COLOURS },
    status: { type: 'string', enum: ['draft', 'placed', 'shipped'], default: 'draft' },
    shape: { type: 'string', enum: ['round', 'square'] },
    grade: { type: 'integer', minimum: 0, maximum: 9 },
    open: { type: 'boolean', default: false },
    flags: { type: 'array', items: { type: 'string', enum: ['new', 'old', 'hot'] } },
    title: { type: ['string', 'null'], maxLength: 20 },
  },
  required: ['ownerId', 'shape', 'grade'],
  additionalProperties: false,
}

const USERS = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'User',
  type: 'object',
  'x-resource': {
    routes: [
      { path: '/users', methods: ['GET', 'POST'] },
      { path: '/users/{id}', methods: ['GET', 'PATCH', 'DELETE'] },
      { path: '/me', object: 'caller', methods: ['GET', 'PATCH'] },
    ],
  },
  properties: {
    ...OWN,
    email: { type: 'string', format: 'email', 'x-unique': true },
    team: { type: 'string', enum: COLOURS },
    level: { type: 'integer', minimum: 0, maximum: 9 },
    lit: { type: 'boolean', default: false },
    boss: { type: 'string', maxLength: 60 },
  },
  required: ['email', 'level'],
  additionalProperties: false,
}

type RelationText =
  | string
  | { readonly field: string; readonly equals: string }
  | { field: string; in: readonly Json[] }
export type RelationTexts = Readonly<Record<string, RelationText>>

/** What relations of the two can be. */
export const RELATIONS: Readonly<Record<Kind, RelationTexts>> = {
  things: {
    owner: 'ownerId',
    mine: 'ownerId',
    member: 'members',
    guest: { field: 'members', in: ['guest'] },
    host: { field: 'members', in: ['host', 'guest'] },
    team: { field: 'team', equals: 'subject.team' },
    second: { field: 'spare', equals: 'subject.team' },
    red: { field: 'team', in: ['red'] },
    cold: { field: 'team', in: ['green', 'blue'] },
    draft: { field: 'status', in: ['draft'] },
    shipped: { field: 'status', in: ['shipped'] },
    moving: { field: 'status', in: ['placed', 'shipped'] },
    round: { field: 'shape', in: ['round'] },
    square: { field: 'shape', in: ['square'] },
    level: { field: 'grade', equals: 'subject.level' },
    low: { field: 'grade', in: [0, 1] },
    lit: { field: 'open', equals: 'subject.lit' },
    shut: { field: 'open', in: [false] },
    fresh: { field: 'flags', in: ['new'] },
    marked: { field: 'flags', in: ['new', 'old', 'hot'] },
    named: { field: 'title', in: ['it'] },
    pinned: { field: 'id', in: ['01980000-0000-7000-8000-0000000000ff'] },
    lost: { field: 'title', equals: 'subject.nowhere' },
  },
  users: {
    owner: 'id',
    mate: { field: 'team', equals: 'subject.team' },
    peer: { field: 'level', equals: 'subject.level' },
    green: { field: 'team', in: ['green'] },
    dim: { field: 'lit', in: [false] },
    report: 'boss',
    lamp: { field: 'lit', equals: 'subject.lit' },
  },
}

export type Kind = 'things' | 'users'

export const SOURCES = [
  { name: 'schemas/things.json', text: JSON.stringify(THINGS) },
  { name: 'schemas/users.json', text: JSON.stringify(USERS) },
]

export const KINDS = parseResources(SOURCES)
export const KNOWN = { resources: KINDS, samples: sampleResources(SOURCES, KINDS) }

/** A policy with these relations, and rules if any. */
export function policyWith(relations: Readonly<Record<string, RelationTexts>>, rules = ''): Policy {
  const owned = Object.entries(relations).map(([name, texts]) => [name, { relations: texts }])
  const ownership = stringify(Object.fromEntries(owned))
  const files = { 'ownership.yaml': ownership, 'roles.yaml': 'clerk: { description: c }\n', 'policy.csv': rules }
  return parsePolicy(filesOf(files), KINDS)
}
