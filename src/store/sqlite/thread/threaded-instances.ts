/** What instances share beside the store, in a server: reads here, writes by the thread. */
import type { PolicyVersions } from '../../policy-versions.ts'
import type { SigningKeys } from '../../signing-keys.ts'
import { identityOf } from '../probe.ts'
import type { InstanceTargets } from './targets.ts'
import { WriterPart } from './writer.ts'

const clock = () => new Date()

export function signingKeysInThread(here: SigningKeys, file: string): SigningKeys {
  const part = partOf(file, 'keys')
  const thread = part.remote<InstanceTargets['keys']>('keys')
  return {
    read: () => here.read(),
    add: (number, text) => thread.add(number, text),
    replace: (number, from, to) => thread.replace(number, from, to),
    noteToken: (number, lastsMs) => thread.noteToken(number, lastsMs),
    remove: (number) => thread.remove(number),
    close: () => closeBoth(part, here),
  }
}

export function policyVersionsInThread(here: PolicyVersions, file: string): PolicyVersions {
  const part = partOf(file, 'versions')
  const thread = part.remote<InstanceTargets['versions']>('versions')
  return {
    home: () => here.home(),
    latest: () => here.latest(),
    last: () => here.last(),
    get: (number) => here.get(number),
    all: () => here.all(),
    file: (digest) => here.file(digest),
    publish: (version) => thread.publish(version),
    note: (name, state) => thread.note(name, state),
    forget: (name) => thread.forget(name),
    instances: () => here.instances(),
    close: () => closeBoth(part, here),
  }
}

function partOf(file: string, kind: keyof InstanceTargets): WriterPart {
  return new WriterPart({ file, identity: identityOf(file), content: { kind } }, clock)
}

async function closeBoth(part: WriterPart, here: { close(): Promise<void> }): Promise<void> {
  await part.close()
  await here.close()
}
