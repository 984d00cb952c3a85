/** The folders: whether this user may write and read them, and whether others may. */
import { existsSync } from 'node:fs'
import { access, constants, open, readdir, rename, rm, stat, statfs } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { type Checked, faulted, passed, warned } from '../../../base/problems/checked.ts'
import { againWith, shellWord } from '../../../base/problems/fix.ts'
import type { Config } from '../../../config/config.ts'
import { fixOf } from '../../../config/fix-of.ts'
import { refuseMissingFolders } from '../../../config/start/folders.ts'
import { dataFolderFault, decisionLogFault } from '../../../config/start/start-faults.ts'
import { inspectLog } from '../../../decision-log/log-file.ts'
import { DATABASE_POLICIES } from '../../../identity/keys/published-settings.ts'
import { databaseIn } from '../../../store/open.ts'

const MEBIBYTE = 2 ** 20
const [LITTLE, TOO_LITTLE] = [1024 * MEBIBYTE, 64 * MEBIBYTE]

/** statfs(2): the write-ahead log of SQLite needs memory that processes share, which these don't have. */
const NETWORKS: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB'],
  [0x01021997, '9p'],
  [0x00c36400, 'Ceph'],
])
/** They are lost with the machine or the container. */
const PASSING: ReadonlyMap<number, string> = new Map([
  [0x01021994, 'in memory (tmpfs)'],
  [0x794c7630, 'in the layer of a container (overlay)'],
])

export async function checkDataFolder(config: Config): Promise<readonly Checked[]> {
  const { dataDirectory: folder } = config
  if (!existsSync(folder)) return [await checkUnmade(folder)]
  try {
    if (!(await stat(folder)).isDirectory()) throw Object.assign(new Error('a file'), { code: 'EEXIST' })
    await access(folder, constants.R_OK | constants.X_OK)
    await writeProbe(folder)
  } catch (error) {
    const fault = dataFolderFault(folder, error as NodeJS.ErrnoException)
    return [faulted('data folder', fault.message, fixOf(fault))]
  }
  return [
    passed('data folder', `this user can write \`${folder}\``),
    ...(await ofOthers(folder)),
    ...(await disk(config)),
  ]
}

/** The first start makes it. */
async function checkUnmade(folder: string): Promise<Checked> {
  const above = existing(folder)
  try {
    await access(above, constants.W_OK | constants.X_OK)
    return passed('data folder', `there is no \`${folder}\` yet; the first start makes it`)
  } catch (error) {
    const fault = dataFolderFault(folder, error as NodeJS.ErrnoException)
    return faulted('data folder', fault.message, fixOf(fault))
  }
}

function existing(folder: string): string {
  const above = dirname(resolve(folder))
  return existsSync(above) ? above : existing(above)
}

/** As a server writes: a new file, forced to the disk, renamed and removed. */
async function writeProbe(folder: string): Promise<void> {
  const file = join(folder, `.doctor-${crypto.randomUUID()}`)
  const renamed = `${file}-renamed`
  try {
    const handle = await open(file, 'wx', 0o600)
    try {
      await handle.write('written by `sallyport doctor`, which removes it again\n')
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(file, renamed)
  } finally {
    await Promise.all([file, renamed].map((one) => rm(one, { force: true })))
  }
}

async function ofOthers(folder: string): Promise<readonly Checked[]> {
  const { mode } = await stat(folder)
  if (process.platform === 'win32' || (mode & 0o077) === 0) return []
  return [warned('data folder', `others can look into \`${folder}\``, `chmod 700 ${shellWord(folder)}`)]
}

export async function checkDecisionLog({ decisionLog: { file }, dataDirectory }: Config): Promise<readonly Checked[]> {
  if (file === undefined) return [passed('decision log', 'it goes to standard output')]
  if (dirname(file) === dataDirectory && !existsSync(dataDirectory)) return []
  try {
    inspectLog(file)
    return [passed('decision log', `\`${file}\` can be written`)]
  } catch (error) {
    const fault = decisionLogFault(file, error)
    return [faulted('decision log', fault.message, fixOf(fault))]
  }
}

/** SQLite's own file lies there, unless DATABASE_URL names another place. */
async function disk({ dataDirectory: folder, database }: Config): Promise<readonly Checked[]> {
  const hasDatabase = database.location === databaseIn(folder).location
  const { type, bavail, bsize, files, ffree } = await statfs(folder)
  const network = NETWORKS.get(type >>> 0)
  const passing = PASSING.get(type >>> 0)
  const free = bavail * bsize
  const message = `${Math.floor(free / MEBIBYTE)} MiB are free`
  const look = `df -h ${shellWord(folder)}`
  const another = againWith('DATA_DIR', '<folder of a local disk>')
  return [
    ...(network === undefined || !hasDatabase
      ? []
      : [faulted('disk', `\`${folder}\` is on ${network}, where SQLite can lose data`, another)]),
    ...(passing === undefined ? [] : [warned('disk', `\`${folder}\` is ${passing}, and is lost with it`, another)]),
    free < TOO_LITTLE
      ? faulted('disk', message, look)
      : free < LITTLE
        ? warned('disk', message, look)
        : passed('disk', message),
    ...(files > 0 && ffree < files / 100
      ? [warned('disk', 'nearly no new files fit (inodes)', `df -i ${shellWord(folder)}`)]
      : []),
  ]
}

/** Whoever may write these folders may change who may do what. */
export async function checkPolicyFolders(config: Config): Promise<readonly Checked[]> {
  try {
    await refuseMissingFolders(config)
  } catch (error) {
    return [faulted('folders', (error as Error).message, fixOf(error))]
  }
  const { policies, schemas } = config
  const folders = policies === DATABASE_POLICIES ? [schemas] : [schemas, policies]
  return (await Promise.all(folders.map(writableByOthers))).flat()
}

async function writableByOthers(folder: string): Promise<readonly Checked[]> {
  const paths = [folder, ...(await readdir(folder)).map((name) => join(folder, name))]
  const modes = await Promise.all(
    paths.map((path) =>
      stat(path).then(
        ({ mode }) => mode,
        () => 0,
      ),
    ),
  )
  if (process.platform === 'win32' || modes.every((mode) => (mode & 0o002) === 0)) {
    return [passed('folders', `\`${folder}\` can be read, and others can't write it`)]
  }
  return [
    warned(
      'folders',
      `every user of this machine can change files of \`${folder}\``,
      `chmod -R o-w ${shellWord(folder)}`,
    ),
  ]
}
