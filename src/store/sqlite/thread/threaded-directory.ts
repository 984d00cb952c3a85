/** The directory of a server: reads here, writes by the thread. */
import type { Directory } from '../../directory.ts'
import type { Remote } from './targets.ts'

export function directoryInThread(here: Directory, thread: Remote<Directory>): Directory {
  return {
    standing: (subject) => here.standing(subject),
    sessionStanding: (subject, session) => here.sessionStanding(subject, session),
    keyStanding: (id) => here.keyStanding(id),
    person: (id) => here.person(id),
    personByEmail: (email) => here.personByEmail(email),
    people: () => here.people(),
    userOfSession: (id) => here.userOfSession(id),
    keys: () => here.keys(),
    addFirst: (user, password) => thread.addFirst(user, password),
    setPassword: (userId, password) => thread.setPassword(userId, password),
    rehash: (userId, hash, better) => thread.rehash(userId, hash, better),
    disable: (subject) => thread.disable(subject),
    enable: (subject) => thread.enable(subject),
    openSession: (session, verified, record) => thread.openSession(session, verified, record),
    refreshSession: (refresh, records) => thread.refreshSession(refresh, records),
    endSession: (id, record) => thread.endSession(id, record),
    addKey: (key) => thread.addKey(key),
    revokeKey: (id) => thread.revokeKey(id),
    noteKeyUses: (uses) => thread.noteKeyUses(uses),
  }
}
