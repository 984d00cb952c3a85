/** What commands work with: the directory of a server that may be running, and the roles that its policy declares. */
import { didYouMean } from '../../base/did-you-mean.ts'
import type { Resources } from '../../resources/resource.ts'
import { type Seeding, type Store, StoreUnavailable } from '../../store/contract.ts'
import type { Directory } from '../../store/directory.ts'

export interface DirectoryAccess {
  readonly directory: Directory
  readonly seeding: Seeding
  readonly store: Pick<Store, 'get'>
  readonly resources: Resources
  /** In the order of roles.yaml. Throws FileError for policy files that the server would refuse. */
  readonly declaredRoles: () => Promise<readonly string[]>
  readonly close: () => Promise<void>
}

/** Throws DirectoryError where there is no database yet, or what opening one throws. */
export type OpenDirectory = () => Promise<DirectoryAccess>

/** What a command can't do with what it was given: one sentence for its user. */
export class DirectoryError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'DirectoryError'
  }
}

/** Does a command's work and closes the directory after it. Throws DirectoryError also when the database doesn't answer. */
export async function withDirectory<T>(open: OpenDirectory, work: (access: DirectoryAccess) => Promise<T>): Promise<T> {
  try {
    const access = await open()
    try {
      return await work(access)
    } finally {
      await access.close()
    }
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    const why = error.cause instanceof Error ? error.cause.message : String(error.cause)
    throw new DirectoryError(`the database does not answer (${why}); see DATA_DIR and DATABASE_URL, and try again`)
  }
}

/** Throws DirectoryError for a role that no policy knows: it would grant nothing, or something in a year. */
export async function refuseUndeclared(
  roles: readonly string[],
  { declaredRoles }: Pick<DirectoryAccess, 'declaredRoles'>,
): Promise<void> {
  const declared = await declaredRoles()
  const unknown = roles.find((role) => !declared.includes(role))
  if (unknown === undefined) return
  throw new DirectoryError(
    `the role \`${unknown}\` is not declared in roles.yaml; it has ${declared.join(', ')}${didYouMean(unknown, declared)}`,
  )
}
