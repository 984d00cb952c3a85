/** What is forgotten of idempotency keys is also deleted, a few with each key that comes, and the rest at the next start. */
import { expect } from 'chai'
import { creation } from './fixture.ts'
import { Folder } from './folder.ts'

describe('the idempotency keys of a database file', () => {
  const folder = Folder.ofEach()
  let time = Date.parse('2026-01-01T00:00:00Z')
  const open = () => folder.open({ now: () => new Date(time) })

  const count = () => folder.raw().prepare('select count(*) as count from replays').get()?.count
  const replay = (key: number) => ({ replay: { subject: 's', route: 'r', key: `${key}`, fingerprint: 'f' } })

  it('shrink with each new key, and are swept at a start', async () => {
    const { store } = await open()
    for (let i = 0; i < 40; i++) await store.create(creation(`a${i}`, {}), replay(i))
    expect(count()).to.equal(40)
    time += 24 * 60 * 60 * 1000
    await store.create(creation('b', {}), replay(100))
    await store.kept({ subject: 's', route: 'r', key: '1' })
    expect(count()).to.equal(31)
    await store.close()
    await (await open()).store.close()
    expect(count()).to.equal(1)
  })

  it('are searched by key, and swept by time, without a scan', async () => {
    const { store } = await open()
    const plan = (text: string) =>
      folder
        .raw()
        .prepare(`explain query plan ${text}`)
        .all()
        .map(({ detail }) => detail)
        .join('; ')
    const sweep = 'delete from replays where rowid in (select rowid from replays where at <= 1 order by at limit 1)'
    expect(plan(sweep)).to.contain('USING COVERING INDEX replays at (at<?)').and.not.contain('SCAN replays')
    expect(plan("select 1 from replays where subject = '' and route = '' and key = ''")).to.match(/^SEARCH/)
    await store.close()
  })
})
