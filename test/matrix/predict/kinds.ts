/** A resource with a field of every kind that relations can compare, and callers with the attributes for it. */
import { stringify } from 'yaml'
import type { Policy } from '../../../src/decide/policy.ts'
import { parsePolicy } from '../../../src/policy/parse/parse-policy.ts'
import { parseResources } from '../../../src/resources/load/load-resources.ts'
import type { Json } from '../../../src/resources/resource.ts'
import { sampleResources } from '../../../src/tools/matrix/fixture/samples.ts'
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
    due: { type: 'string', format: 'date-time' },
    boxId: { type: 'string', minLength: 1 },
    boxes: { type: 'array', items: { type: 'string', minLength: 1 } },
    parentId: { type: ['string', 'null'] },
  },
  required: ['ownerId', 'shape', 'grade'],
  additionalProperties: false,
}

const BOXES = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Box',
  type: 'object',
  'x-resource': {
    routes: [
      { path: '/boxes', methods: ['GET', 'POST'] },
      { path: '/boxes/{id}', methods: ['GET', 'PUT', 'PATCH', 'DELETE'] },
    ],
  },
  properties: {
    ...OWN,
    leadId: { type: 'string', minLength: 1 },
    state: { type: 'string', enum: ['open', 'shut'], default: 'open' },
    team: { type: 'string', enum: COLOURS },
  },
  additionalProperties: false,
}

/** Members of boxes. */
const SEATS = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Seat',
  type: 'object',
  'x-resource': {
    routes: [
      { path: '/seats', methods: ['GET', 'POST'] },
      { path: '/seats/{id}', methods: ['GET', 'PUT', 'PATCH', 'DELETE'] },
    ],
  },
  properties: {
    ...OWN,
    boxId: { type: 'string', minLength: 1 },
    userId: { type: 'string', minLength: 1 },
    rank: { type: 'string', enum: ['editor', 'viewer'] },
  },
  required: ['boxId', 'userId'],
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
    teams: { type: 'array', items: { type: 'string', enum: COLOURS } },
    roles: { type: 'array', items: { type: 'string', maxLength: 20 } },
  },
  required: ['email', 'level'],
  additionalProperties: false,
}

type RelationText = string | Readonly<Record<string, Json>>
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
    ours: { field: 'team', equals: 'subject.teams' },
    some: { field: 'spare', equals: 'subject.teams' },
    titled: { field: 'title', present: true },
    flagged: { field: 'flags', present: true },
    small: { field: 'grade', atMost: 2 },
    middle: { field: 'grade', atLeast: 2, atMost: 5 },
    large: { field: 'grade', atLeast: 4 },
    late: { field: 'due', before: 'now' },
    older: { field: 'due', before: 'now-30d' },
    soon: { field: 'due', after: 'now-1h', before: 'now+1h' },
    mineDraft: { all: ['owner', 'draft'] },
    either: { any: ['owner', 'team'] },
    inBox: { through: 'boxId', to: 'boxes', relation: 'member' },
    led: { through: 'boxId', to: 'boxes', relation: 'lead' },
    openBox: { through: 'boxId', to: 'boxes', relation: 'open' },
    inBoxes: { through: 'boxes', to: 'boxes', relation: 'member' },
    shutBoxes: { through: 'boxes', to: 'boxes', relation: 'shut' },
    editor: { through: 'boxId', to: 'boxes', relation: 'editor' },
    below: { through: 'parentId', to: 'things', relation: 'owner', depth: 3 },
    seen: { any: ['owner', 'below', 'inBox'] },
  },
  boxes: {
    lead: 'leadId',
    open: { field: 'state', in: ['open'] },
    shut: { field: 'state', in: ['shut'] },
    team: { field: 'team', equals: 'subject.team' },
    member: { some: 'seats', where: 'boxId', relation: 'self' },
    editor: { some: 'seats', where: 'boxId', relation: 'editor' },
    staff: { any: ['lead', 'member'] },
  },
  seats: {
    self: 'userId',
    editing: { field: 'rank', in: ['editor'] },
    editor: { all: ['self', 'editing'] },
    peer: { through: 'boxId', to: 'boxes', relation: 'member' },
    lead: { through: 'boxId', to: 'boxes', relation: 'lead' },
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

export type Kind = 'things' | 'boxes' | 'seats' | 'users'

export const SOURCES = [
  { name: 'schemas/things.json', text: JSON.stringify(THINGS) },
  { name: 'schemas/boxes.json', text: JSON.stringify(BOXES) },
  { name: 'schemas/seats.json', text: JSON.stringify(SEATS) },
  { name: 'schemas/users.json', text: JSON.stringify(USERS) },
]

/** These relations of a resource, and those of all resources that they rest on. */
export function closureOf(kind: Kind, names: readonly string[]): Readonly<Record<string, RelationTexts>> {
  const wanted: (readonly [Kind, string])[] = names.map((name) => [kind, name])
  for (const [resource, name] of wanted) {
    for (const next of restsOn(resource, RELATIONS[resource][name] ?? '')) {
      if (!wanted.some((one) => one.join() === next.join())) wanted.push(next)
    }
  }
  const kinds = Object.keys(RELATIONS) as Kind[]
  const chosen = (resource: Kind) =>
    Object.entries(RELATIONS[resource]).filter(([name]) => wanted.some((one) => one.join() === [resource, name].join()))
  return Object.fromEntries(kinds.map((resource) => [resource, Object.fromEntries(chosen(resource))]))
}

function restsOn(kind: Kind, text: RelationText): readonly (readonly [Kind, string])[] {
  if (typeof text === 'string') return []
  const parts = [text.all, text.any].flatMap((names) => (Array.isArray(names) ? names.map(String) : []))
  const target = (text.to ?? text.some) as Kind | undefined
  return [...parts.map((name) => [kind, name] as const), ...(target ? [[target, String(text.relation)] as const] : [])]
}

export const KINDS = parseResources(SOURCES)
export const KNOWN = { resources: KINDS, samples: sampleResources(KINDS) }

/** A policy with these relations, and rules if any. */
export function policyWith(relations: Readonly<Record<string, RelationTexts>>, rules = ''): Policy {
  const owned = Object.entries(relations)
    .filter(([, texts]) => Object.keys(texts).length > 0)
    .map(([name, texts]) => [name, { relations: texts }])
  const ownership = stringify(Object.fromEntries(owned))
  const files = { 'ownership.yaml': ownership, 'roles.yaml': 'clerk: { description: c }\n', 'policy.csv': rules }
  return parsePolicy(filesOf(files), KINDS)
}
