/** Policy and schema files -> who can do what. */
import { didYouMean } from '../../base/did-you-mean.ts'
import { livingAt } from '../../decide/rules/rule-expiry.ts'
import { loadResources } from '../../resources/load/load-resources.ts'
import type { Resources } from '../../resources/resource.ts'
import { loadPolicy, ReviewError } from '../load-policy.ts'
import { chooseColumns } from './columns.ts'
import { buildMatrix, type Matrix } from './matrix.ts'

interface MatrixQuestion {
  readonly policies: string
  readonly schemas: string
  /** The callers to show; none for all. */
  readonly roles: readonly string[]
  /** The resources to show; none for all. */
  readonly only: readonly string[]
  /** Milliseconds since the epoch. */
  readonly now: number
}

/** Throws FileError and ReviewError. */
export async function readMatrix({ policies, schemas, roles, only, now }: MatrixQuestion): Promise<Matrix> {
  const resources = await loadResources(schemas)
  const reviewed = await loadPolicy(policies, resources)
  return buildMatrix(reviewed, {
    resources,
    columns: chooseColumns(livingAt(reviewed.policy, now), roles),
    only: chosenResources(resources, only),
    now,
  })
}

function chosenResources({ byName }: Resources, asked: readonly string[]): ReadonlySet<string> | undefined {
  const unknown = asked.find((name) => !byName.has(name))
  if (unknown !== undefined) {
    throw new ReviewError(
      `no schema declares the resource \`${unknown}\`; --resource takes ${[...byName.keys()].join(', ')}${didYouMean(unknown, byName.keys())}`,
    )
  }
  return asked.length > 0 ? new Set(asked) : undefined
}
