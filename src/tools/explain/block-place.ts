/** Which line of blocked.txt blocks a caller. */
import { parseBlocked } from '../../policy/parse/parse-blocked.ts'
import type { ReviewedPolicy } from '../load-policy.ts'

/** Of several lines about one user the one that blocks longest counts. */
export function blockPlace({ blocked, blockedFile }: ReviewedPolicy, subject: string): string {
  const until = blocked.get(subject)?.until
  const index = blockedFile.text.split(/\r?\n/).findIndex((text) => {
    const block = parseBlocked({ name: blockedFile.name, text }).get(subject)
    return block !== undefined && block.until === until
  })
  return `blocked.txt:${index + 1}`
}
