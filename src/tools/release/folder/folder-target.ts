/** A policy directory as the target of releases. */
import { join } from 'node:path'
import { ToolError } from '../../load-policy.ts'
import type { ReleaseTarget } from '../target.ts'
import { isIntact, readHistory, readVersion } from '../version.ts'
import { addBlocks, block, unblock } from './blocks.ts'
import { type Home, nameOf } from './layout.ts'
import { putInForce } from './put-in-force.ts'
import { isHeldBack } from './swap-policy-files.ts'

export function folderTarget(home: Home): ReleaseTarget {
  const { directory } = home
  return {
    name: directory,
    done: 'in force',
    folder: directory,
    isEmpty: false,
    refused: [],
    history: () => readHistory(home),
    contentOf: async (version) => {
      if (await isIntact(home, version)) return readVersion(home, version)
      const which = `the files of version ${version.number}`
      throw new ToolError(`${which} were edited: choose another version of \`sallyport policy history\``)
    },
    placeOf: (version) => join(home.versions, nameOf(version)),
    isHeldBack: () => isHeldBack(directory),
    put: async ({ blocks, sameRules, ...change }) => {
      await addBlocks(directory, blocks)
      return sameRules ? undefined : putInForce(home, change)
    },
    block: (added, now) => block(directory, added, now),
    unblock: (id) => unblock(directory, id),
    close: async () => {},
  }
}
