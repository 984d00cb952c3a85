/**
 * Three applications after those that Cedar publishes its figures for (OOPSLA 2024: TinyTodo, GitHub, Google Drive), as
 * worlds of a given size, with questions and the answer that each engine must give. Groups aren't nested here.
 */

export type ScenarioAction = 'read' | 'update' | 'delete'
export const ACTIONS: readonly ScenarioAction[] = ['read', 'update', 'delete']

/** By action, the levels of a grant that allow it. */
type Levels = Readonly<Record<ScenarioAction, readonly string[]>>

export interface Scenario {
  readonly name: string
  /** Of a grant on the thing itself, and on what it is in: a folder, an organization. */
  readonly levels: { readonly thing: Levels; readonly parent: Levels }
  /** What the owner may do, of the thing itself and of what it is in. */
  readonly owner: { readonly thing: readonly ScenarioAction[]; readonly parent: readonly ScenarioAction[] }
  /** Whether some things may be read by everybody. */
  readonly hasPublic: boolean
  /** How many steps up a thing has at most. */
  readonly depth: number
}

const NO_LEVELS: Levels = { read: [], update: [], delete: [] }

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'TinyTodo',
    levels: { thing: { read: ['reader', 'editor'], update: ['editor'], delete: [] }, parent: NO_LEVELS },
    owner: { thing: ['read', 'update', 'delete'], parent: [] },
    hasPublic: false,
    depth: 0,
  },
  {
    name: 'GitHub',
    levels: {
      thing: {
        read: ['reader', 'triager', 'writer', 'maintainer', 'admin'],
        update: ['writer', 'maintainer', 'admin'],
        delete: ['admin'],
      },
      parent: { read: ['reader', 'writer', 'admin'], update: ['writer', 'admin'], delete: ['admin'] },
    },
    owner: { thing: [], parent: [] },
    hasPublic: false,
    depth: 1,
  },
  {
    name: 'Google Drive',
    levels: {
      thing: { read: ['viewer'], update: [], delete: [] },
      parent: { read: ['viewer'], update: [], delete: [] },
    },
    owner: { thing: ['read', 'update', 'delete'], parent: ['read', 'update'] },
    hasPublic: true,
    depth: 4,
  },
]

export interface Node {
  readonly id: string
  readonly kind: 'thing' | 'parent'
  readonly ownerId: string
  readonly parentId?: string
  readonly isPublic: boolean
}

interface ScenarioGrant {
  /** A node. */
  readonly onId: string
  /** A user or a group. */
  readonly holder: string
  readonly level: string
}

export interface ScenarioWorld {
  readonly scenario: Scenario
  readonly nodes: ReadonlyMap<string, Node>
  readonly grants: readonly ScenarioGrant[]
  /** By user, their groups. */
  readonly groupsOf: ReadonlyMap<string, readonly string[]>
}

interface ScenarioQuestion {
  readonly user: string
  readonly thing: string
  readonly action: ScenarioAction
}

export interface ScenarioEngine {
  decide(question: ScenarioQuestion): boolean
}

export type SetUpScenario = (world: ScenarioWorld) => ScenarioEngine | Promise<ScenarioEngine>

/** Of each pair, how many are connected. */
const CONNECTED = 0.1

/** `count`: of users, groups, things, and what they are in. The same world each time. */
export function makeWorld(scenario: Scenario, count: number): ScenarioWorld {
  const random = randomFrom(count)
  const names = (kind: string) => Array.from({ length: count }, (_, i) => `${kind}${i}`)
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T
  const [users, groups] = [names('user'), names('group')]
  const groupsOf = new Map(users.map((user) => [user, groups.filter(() => random() < CONNECTED)]))
  const nodes = new Map<string, Node>()
  const parents = scenario.depth === 0 ? [] : names('parent')
  for (const [i, id] of parents.entries()) {
    const isNested = scenario.depth > 1 && i % scenario.depth > 0
    const above = isNested ? { parentId: parents[i - 1] as string } : {}
    nodes.set(id, { id, kind: 'parent', ownerId: pick(users), isPublic: false, ...above })
  }
  for (const id of names('thing')) {
    const above = parents.length > 0 ? { parentId: pick(parents) } : {}
    nodes.set(id, { id, kind: 'thing', ownerId: pick(users), isPublic: scenario.hasPublic && random() < 0.5, ...above })
  }
  const grants = [...nodes.values()].flatMap(({ id, kind }) => {
    const levels = [...new Set(Object.values(scenario.levels[kind]).flat())]
    if (levels.length === 0) return []
    return [...users, ...groups]
      .filter(() => random() < CONNECTED)
      .map((holder) => ({ onId: id, holder, level: pick(levels) }))
  })
  return { scenario, nodes, grants, groupsOf }
}

/** Numbers below 1 (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export interface AskedOfScenario extends ScenarioQuestion {
  readonly answer: boolean
}

/** As many that are allowed as refused, where the world has them. */
export function makeScenarioQuestions(world: ScenarioWorld, count: number): readonly AskedOfScenario[] {
  const things = [...world.nodes.values()].filter(({ kind }) => kind === 'thing')
  const all = [...world.groupsOf.keys()].flatMap((user) =>
    things.flatMap(({ id: thing }) => ACTIONS.map((action) => ({ user, thing, action }))),
  )
  const answered = all.map((one) => ({ ...one, answer: isAllowed(world, one) }))
  const half = (answer: boolean) => {
    const alike = answered.filter((one) => one.answer === answer)
    const taken = Math.min(count / 2, alike.length)
    return Array.from(
      { length: taken },
      (_, i) => alike[Math.floor(((i + 0.5) * alike.length) / taken)] as AskedOfScenario,
    )
  }
  const [allowed, refused] = [half(true), half(false)]
  // In turn, so that a pass doesn't ask all of one kind first.
  const most = Math.max(allowed.length, refused.length)
  return Array.from({ length: most }, (_, i) => [...refused.slice(i, i + 1), ...allowed.slice(i, i + 1)]).flat()
}

/** The node and what it is in, from below. */
export function chainOf({ nodes }: ScenarioWorld, id: string): readonly Node[] {
  const node = nodes.get(id)
  if (!node) return []
  return [node, ...(node.parentId === undefined ? [] : chainOf({ nodes } as ScenarioWorld, node.parentId))]
}

function isAllowed(world: ScenarioWorld, { user, thing, action }: ScenarioQuestion): boolean {
  const { scenario, grants, groupsOf } = world
  const holders = new Set([user, ...(groupsOf.get(user) ?? [])])
  return chainOf(world, thing).some(({ id, kind, ownerId, isPublic }) => {
    if (isPublic && action === 'read') return true
    if (ownerId === user && scenario.owner[kind].includes(action)) return true
    const levels = scenario.levels[kind][action]
    return grants.some(({ onId, holder, level }) => onId === id && levels.includes(level) && holders.has(holder))
  })
}
