/**
 * Adds another service that asks for decisions to a project: its role, its rule, and the expected answers to that role.
 * What is there already stays as it is.
 */
import { stat } from 'node:fs/promises'
import type { Policy } from '../../decide/policy.ts'
import { parsePolicy } from '../../policy/parse/parse-policy.ts'
import type { PolicyFiles } from '../../policy/policy-files.ts'
import { ACCESS } from '../../resources/built-in/access.ts'
import { loadResources } from '../../resources/load/load-resources.ts'
import type { Resource } from '../../resources/resource.ts'
import { broadAskers } from '../check/rules/privileges.ts'
import { readPlace, ToolError } from '../load-policy.ts'
import { statedIn } from '../matrix/cells/survey.ts'
import { sampleResources } from '../matrix/fixture/samples.ts'
import { everywhere, planMatrix } from '../matrix/init/plan-matrix.ts'
import { textsIn, writeMissing } from '../matrix/init/write-matrix.ts'
import { predictedSuite } from '../matrix/predict/suite.ts'
import { readCases } from '../matrix/read/cases.ts'
import { findMatrixFiles, readBodies, readMatrices } from '../matrix/read/read-matrices.ts'
import { type Additions, addToProject, changedFiles, type EditedFolders, filledParts } from './add-resource.ts'

export interface NewService extends EditedFolders {
  /** The role that the service has, and nobody else. */
  readonly role: string
}

/** The paths of the files that were changed or made. Throws FileError and ToolError; then nothing is changed. */
export async function addService(wish: NewService): Promise<readonly string[]> {
  if (!/^[a-z][a-z0-9-]{0,49}$/.test(wish.role)) {
    throw new ToolError(
      `${JSON.stringify(wish.role)} can't be the name of a role here: use small letters, digits and -, like \`pdp-client\``,
    )
  }
  return addToProject(wish, () => planAdditions(wish))
}

async function planAdditions({ role, policies, schemas, matrices }: NewService): Promise<Additions> {
  const resources = await loadResources(schemas)
  const files = (await readPlace(policies)).files()
  const policy = parsePolicy(files, resources)
  const parts = await filledParts('templates/services', { role })
  const lacking = new Map([...parts].filter(([name]) => !isThere(name, role, policy)))
  const changed = changedFiles(files, lacking)
  if (changed.length === 0) return { schemas: [], policies: [], matrices: [] }
  const after: PolicyFiles = { ...files, ...Object.fromEntries(changed.map((file) => [file.name, file])) }
  const given = parsePolicy(after, resources)
  refuseRoleOfPeople(role, given, [...resources.byName.values()])
  const found = await findMatrixFiles((await isFolder(matrices)) ? [matrices] : [])
  const [expectations, cases] = await Promise.all([readMatrices(found.matrices), readCases(found.cases)])
  const suite = predictedSuite(
    {
      folders: { policies, schemas },
      files: after,
      policy: given,
      resources,
      samples: sampleResources(resources),
      bodies: await readBodies(expectations),
    },
    Date.now(),
  )
  const stated = { ...suite, expectations, cases }
  const plan = await planMatrix(stated, everywhere({ kind: 'roles', roles: [role] }), statedIn(stated))
  return { schemas: [], policies: changed, matrices: writeMissing(plan, await textsIn(matrices)) }
}

/** Whoever has the role would learn what others may do. Throws ToolError. */
function refuseRoleOfPeople(role: string, policy: Policy, resources: readonly Resource[]): void {
  const asking = policy.rules.find(({ subject, resource }) => subject === role && resource === ACCESS.name)
  const who = asking && broadAskers(asking, policy, resources)
  if (who === undefined) return
  throw new ToolError(`\`${role}\` is ${who}: give --role a name that only services have, like \`pdp-client\``)
}

function isThere(part: string, role: string, { roles, rules }: Policy): boolean {
  if (part === 'roles.yaml') return roles.has(role)
  return rules.some((rule) => rule.subject === role && rule.resource === ACCESS.name)
}

async function isFolder(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  return found?.isDirectory() ?? false
}
