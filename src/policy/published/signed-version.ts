/**
 * The signed description of one published version: a JWS (RFC 7515, compact, Ed25519), which names each file by its
 * digest. The number is signed too, so nobody can store an older version under a newer number, and the database, so
 * nobody can store it in another one.
 */
import { createHash, type KeyObject } from 'node:crypto'
import { CompactSign } from 'jose/jws/compact/sign'
import { compactVerify } from 'jose/jws/compact/verify'
import { FileError } from '../../base/diagnostic.ts'
import { isObject } from '../../base/is-object.ts'
import { POLICY_FILES, type Revision } from '../policy-files.ts'

export interface PublishedVersion {
  /** Counts from 1. */
  readonly number: number
  /** The id of the database that it is published in. Absent in versions of sallyport 0.2 and before. */
  readonly database?: string | undefined
  /** Of all files of the version. */
  readonly revision: Revision
  /** RFC 3339, UTC. */
  readonly time: string
  /** The operating system's user who ran the command. */
  readonly user: string
  readonly kind: 'applied' | 'rolled-back' | 'blocked' | 'unblocked' | 'approved' | 'recovered'
  readonly reason?: string | undefined
  /** The number of the version that a rollback restored. */
  readonly of?: number | undefined
  /** Of the files without blocked.txt, as in a folder of versions. */
  readonly digest: string
  /** The digests of the files' texts, by file name. */
  readonly files: Readonly<Record<string, string>>
  /** For a version that people have approved: the number of its proposal, and who has signed it. */
  readonly proposal?: number | undefined
  readonly signed?: SignedByPeople | undefined
}

/** A person of approvals.yaml, and the key. */
export interface SignedName {
  readonly by: string
  readonly kid: string
}

export interface SignedByPeople {
  readonly author: SignedName
  /** Without the author; each once. */
  readonly approvers: readonly SignedName[]
}

export interface VersionSigner {
  /** RFC 7638 thumbprint. */
  readonly kid: string
  readonly privateKey: KeyObject
}

/** The keys that instances trust, by their thumbprints. */
export type VersionKeys = ReadonlyMap<string, KeyObject>

/** The database that versions stand in (src/store/policy-versions.ts). */
export interface VersionHome {
  readonly id: string
  /** The digests of the signed texts that it had before versions named their database. */
  readonly former: readonly string[]
}

/** A key may sign other things as well: their signatures don't count for a version. */
const TYPE = 'sallyport-policy'

export function digestOfText(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

export function signVersion(version: PublishedVersion, { kid, privateKey }: VersionSigner): Promise<string> {
  const header = { alg: 'EdDSA', kid, typ: TYPE }
  return new CompactSign(Buffer.from(JSON.stringify(version))).setProtectedHeader(header).sign(privateKey)
}

/** The version that a key has signed, and that is stored under this number in this database. Throws FileError. */
export async function verifyVersion(
  number: number,
  signed: string,
  keys: VersionKeys,
  home: VersionHome,
): Promise<PublishedVersion> {
  const version = read(await payloadOf(number, signed, keys))
  if (!version) {
    throw refusal(number, 'version-unknown', 'was published by another version of sallyport', 'update this instance')
  }
  if (version.number !== number) {
    const what = `is the signed version ${version.number}, stored under another number`
    throw refusal(number, 'version-number', what, REPUBLISH)
  }
  refuseForeign(version, signed, home)
  return version
}

function refuseForeign({ number, database }: PublishedVersion, signed: string, { id, former }: VersionHome): void {
  if (database === id) return
  if (database !== undefined) {
    const what = `was published in the database ${database}, and this one is ${id}`
    throw refusal(number, 'version-database', what, REPUBLISH)
  }
  if (former.includes(digestOfText(signed))) return
  const what = 'names no database, and was not in this one when its id was made'
  throw refusal(number, 'version-database', what, 'publish it again with this version of sallyport')
}

/** Why a version is not taken. */
export function refusal(number: number, code: string, what: string, hint: string): FileError {
  const place = { file: versionFile(number, 'version'), line: 1, column: 1 }
  return new FileError([{ ...place, code, severity: 'error', message: `version ${number} ${what}`, hint }])
}

export function versionFile(number: number, file: string): string {
  return `database:${number}/${file}`
}

export const REPUBLISH = 'find out who writes to the database, and publish the policy again'

async function payloadOf(number: number, signed: string, keys: VersionKeys): Promise<Uint8Array> {
  let kid: string | undefined
  try {
    const find = ({ kid: named, typ }: { readonly kid?: string; readonly typ?: string }) => {
      kid = named
      const key = keys.get(named ?? '')
      if (key && typ === TYPE) return key
      throw new Error('no such key')
    }
    return (await compactVerify(signed, find, { algorithms: ['EdDSA'] })).payload
  } catch {
    throw kid === undefined || keys.has(kid)
      ? refusal(number, 'version-signature', 'has no valid signature', REPUBLISH)
      : refusal(
          number,
          'version-key',
          'is signed by a key that this instance does not trust',
          'publish it with a key of POLICY_PUBLIC_KEYS, or add the key there',
        )
  }
}

/** Undefined for what this program doesn't know: it may be a file that another one decides by. */
function read(payload: Uint8Array): PublishedVersion | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(payload))
    if (!isObject(value)) return undefined
    const version = value as unknown as PublishedVersion
    const names = Object.keys(version.files)
    return names.every((name) => POLICY_FILES.includes(name)) ? version : undefined
  } catch {
    return undefined
  }
}
