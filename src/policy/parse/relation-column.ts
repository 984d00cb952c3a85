/** The relation column of a rule -> terms (docs/policies.md): `owner+draft>placed`, `!tenant`, `any`. */
import { didYouMean } from '../../base/did-you-mean.ts'
import type { Ownership, Rule, Term } from '../../decide/policy.ts'
import type { Resource, Resources } from '../../resources/resource.ts'
import type { CellFault } from './rule-columns.ts'

/** The names that a relation column may use, and where its rule applies. */
interface ColumnContext {
  readonly resources: Resources
  readonly ownership: ReadonlyMap<string, Ownership>
  /** The names of conditions.yaml. */
  readonly conditions: ReadonlySet<string>
  /** The resources that the rule is about. */
  readonly covered: readonly Resource[]
  readonly actions: readonly string[]
}

type Columns = Pick<Rule, 'before' | 'after'>

/** The number of the relation column. */
const RELATION_COLUMN = 4

const ANY = 'any'

/** Undefined if there is a fault, which is reported. */
export function parseRelationColumn(text: string, context: ColumnContext, report: CellFault): Columns | undefined {
  let sound = true
  const fault: CellFault = (...args) => {
    sound = false
    report(...args)
  }
  const [left = '', right, ...more] = text.split('>')
  if (more.length > 0) fault(RELATION_COLUMN, 'relation-list', 'a relation column has one `>`', 'as in: draft>placed')
  const before = parseSide(left, context, fault)
  const after = right === undefined ? undefined : parseRightSide(right, context, fault)
  return sound ? { before, ...(after ? { after } : {}) } : undefined
}

function parseRightSide(text: string, context: ColumnContext, fault: CellFault): readonly Term[] {
  const { actions, covered, conditions } = context
  const other = actions.find((name) => name === '*' || !covered.every((resource) => onlyChanges(resource, name)))
  if (other !== undefined) {
    const message = `\`>\` says what a write to a stored object leaves, and \`${other}\` is no such action`
    const hint = 'name replace, update, the action of a command, or one that only PUT or PATCH have'
    fault(RELATION_COLUMN, 'right-side-action', message, hint)
  }
  const terms = parseSide(text, context, fault)
  const condition = terms.find(({ name }) => conditions.has(name))
  if (condition) {
    const message = `the condition \`${condition.name}\` is about the request, which a write doesn't change`
    fault(RELATION_COLUMN, 'right-side-condition', message, 'move it to the left of `>`')
  }
  return terms
}

/** Whether every method of this action changes an object that is stored already. */
function onlyChanges({ actions, routes }: Resource, name: string): boolean {
  if (!actions.has(name)) return true
  const ways = routes.flatMap(({ endpoints, command }) =>
    [...endpoints].flatMap(([method, { action }]) => (action === name ? [{ method, command }] : [])),
  )
  if (ways.length === 0) return name === 'replace' || name === 'update'
  return ways.every(({ method, command }) => method === 'PUT' || method === 'PATCH' || command !== undefined)
}

function parseSide(text: string, context: ColumnContext, fault: CellFault): readonly Term[] {
  if (text === ANY) return []
  const words = text.split('+')
  const wrong = (message: string) => fault(RELATION_COLUMN, 'relation-list', message, 'as in: owner+draft')
  if (words.includes(ANY)) {
    wrong('`any` stands alone')
    return []
  }
  if (text.includes('|')) {
    const lines = text.split('|').join('` and one with `')
    fault(RELATION_COLUMN, 'relation-list', '`|` joins no relations', `write one line each: one with \`${lines}\``)
    return []
  }
  if (words.some((word) => word.replace('!', '') === '')) {
    wrong('a name is missing')
    return []
  }
  const terms = words.map((word): Term => ({ name: word.replace('!', ''), negated: word.startsWith('!') }))
  const known = terms.map(({ name }) => isKnown(name, context, fault)).every(Boolean)
  const names = new Set(terms.map(({ name }) => name))
  const texts = new Set(words)
  if (texts.size < words.length) wrong('a name stands twice in one cell')
  else if (known && names.size < words.length) {
    const both = terms.find(({ name }) => texts.has(name) && texts.has(`!${name}`))
    const message = `\`${both?.name}\` can't hold and not hold`
    fault(RELATION_COLUMN, 'term-contradiction', message, 'keep one of the two terms')
  }
  return terms.toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

function isKnown(name: string, { covered, ownership, conditions }: ColumnContext, fault: CellFault): boolean {
  const relations = new Set(covered.flatMap((resource) => [...(ownership.get(resource.name)?.relations.keys() ?? [])]))
  if (relations.has(name) || conditions.has(name)) return true
  const near = didYouMean(name, [...relations, ...conditions, ANY])
  const hint = () => `declare it in ownership.yaml or conditions.yaml, or write any${near}`
  const names = covered.map((resource) => `\`${resource.name}\``).join(', ')
  const message = `the relation \`${name}\` is not declared for ${covered.length > 1 ? 'any of ' : ''}${names || 'this resource'}`
  fault(RELATION_COLUMN, 'unknown-relation', message, hint)
  return false
}

/**
 * A deny for all resources with `!relation` would deny nothing where a resource lacks the relation: the wall would have
 * a gap.
 */
export function reportGap(
  { before, after = [] }: Columns,
  { covered, ownership, actions }: Omit<ColumnContext, 'resources'>,
  fault: CellFault,
): void {
  const acted = covered.filter((resource) => actions.some((name) => name === '*' || resource.actions.has(name)))
  for (const { name, negated } of [...before, ...after]) {
    const without = negated ? acted.filter((resource) => !ownership.get(resource.name)?.relations.has(name)) : []
    const isRelation = covered.some((resource) => ownership.get(resource.name)?.relations.has(name))
    if (without.length === 0 || !isRelation) continue
    const gaps = without.map((resource) => `\`${resource.name}\``).join(', ')
    const message = `the deny of \`!${name}\` doesn't match for ${gaps}, which lack${without.length === 1 ? 's' : ''} the relation`
    const hint = `declare \`${name}\` for ${without.length === 1 ? 'it' : 'them'}, or name the resources one by one`
    fault(RELATION_COLUMN, 'relation-gap', message, hint)
  }
}
