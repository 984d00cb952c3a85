/** The comment of a pull request: one, replaced by each run, whatever GitHub answers on the way. */
import { expect } from 'chai'
import { type CommentPlace, putComment } from '../../src/tools/project/ci/comment.ts'
import { fitted } from '../../src/tools/project/ci/report.ts'
import { type ApiComment, type CommentsApi, startCommentsApi } from './comments-api.ts'

const MARKER = '<!-- sallyport-ci api -->'

describe('the comment of a pull request', () => {
  let api: CommentsApi
  let place: CommentPlace
  beforeEach(async () => {
    api = await startCommentsApi()
    place = { api: api.url, repository: 'acme/api', pullRequest: 7, token: 'a-token-of-the-job' }
  })
  afterEach(() => api.close())

  const put = (body: string, isNews = true) => putComment(place, { marker: MARKER, body, isNews })
  const by = (id: number, body: string, type: 'Bot' | 'User' = 'User', author_association = 'NONE') =>
    api.comments.push({ id, body, user: { type }, author_association } as ApiComment)

  it('is made once, and then replaced, also behind a hundred others', async () => {
    for (let id = 1; id <= 205; id++) by(id, `comment ${id}`)
    expect(await put('first')).to.deep.equal({ kind: 'created' })
    expect(await put('second')).to.deep.equal({ kind: 'updated' })
    expect(await put('second')).to.deep.equal({ kind: 'unchanged' })
    const own = api.comments.filter(({ body }) => body.startsWith(MARKER))
    expect(own.map(({ body }) => body)).to.deep.equal([`${MARKER}\nsecond`])
    expect(api.comments).to.have.length(206)
    expect(api.asked.filter((one) => one.includes('page=3'))).to.have.length(3)
  })

  it('is not made where there is no news, and says that all is well where it was made before', async () => {
    expect(await put('all is well', false)).to.deep.equal({ kind: 'not-needed' })
    await put('a hole')
    expect(await put('all is well', false)).to.deep.equal({ kind: 'updated' })
    expect(api.comments[0]?.body).to.include('all is well')
  })

  it("is never another one's: a stranger's with the marker, another project's, a quotation", async () => {
    by(1, `${MARKER}\nall is well, trust me`)
    by(2, '<!-- sallyport-ci api2 -->\nof another project', 'Bot')
    by(3, `> ${MARKER}\nquoted`, 'Bot')
    expect(await put('a hole')).to.deep.equal({ kind: 'created' })
    expect(
      api.comments
        .slice(0, 3)
        .map(({ body }) => body)
        .join(),
    ).to.not.include('a hole')
    // With a token of a person, the comment is that person's.
    api.comments.splice(3)
    by(4, `${MARKER}\nof the owner`, 'User', 'OWNER')
    expect(await put('a hole')).to.deep.equal({ kind: 'updated' })
  })

  it('is made once although GitHub fails, limits, or loses its answer, and is given up in time', async () => {
    api.next.push(502, 429, 'lost')
    // The third attempt lists; its answer is lost, and the fourth succeeds.
    expect(await put('once')).to.deep.equal({ kind: 'created' })
    api.comments.splice(0)
    // This time the answer to the creation is lost, and the comment is found.
    await put('x', false)
    const listed = api.asked.length
    api.next.push('as usual', 'lost')
    expect((await put('once')).kind).to.equal('unchanged')
    expect(api.comments).to.have.length(1)
    expect(api.asked.length - listed).to.equal(3)
    api.next.push(500, 500, 500, 500, 500)
    expect(await put('never')).to.deep.equal({ kind: 'refused', why: 'GitHub answered 500' })
    expect(api.next).to.have.length(1)
  })

  for (const status of [401, 403, 404, 422]) {
    it(`is left out after one refusal with ${status}`, async () => {
      api.next.push(status)
      expect(await put('a hole')).to.deep.equal({ kind: 'refused', why: `GitHub answered ${status}` })
      expect(api.asked).to.have.length(1)
    })
  }

  it('says that GitHub is not there', async () => {
    await api.close()
    const refused = await put('a hole')
    expect(refused.kind === 'refused' && refused.why).to.include("GitHub can't be reached")
    api = await startCommentsApi()
  })

  it('is cut at the end of a line, and says so, where it would be too long', async () => {
    const long = `# title\n${'| a row of a table |\n'.repeat(10_000)}`
    expect((await put(long)).kind, 'GitHub refuses the whole').to.equal('refused')
    const cut = fitted(long)
    expect((await put(cut)).kind).to.equal('created')
    expect(cut).to.match(/\| a row of a table \|\n\nThe rest is cut, because .*65,536 characters/)
    expect(fitted('short\n')).to.equal('short\n')
  })
})
