/** The operator's port outlives metrics that can't be told. */
import { expect } from 'chai'
import { createAdminServer, listen } from '../../src/parts/listen.ts'

describe('the admin port', () => {
  it('answers 503 when the metrics can not be told, and tells them when they can', async () => {
    const answers = [() => Promise.reject(new Error('a worker hangs')), async () => 'up 1\n']
    const admin = createAdminServer({ text: () => answers.shift()?.() ?? Promise.reject(), contentType: 'text/plain' })
    const url = await listen(admin, '127.0.0.1', { name: 'ADMIN_PORT', port: 0 })
    const first = await fetch(`${url}/metrics`)
    const second = await fetch(`${url}/metrics`)
    admin.close()
    expect([first.status, second.status, await second.text()]).to.deep.equal([503, 200, 'up 1\n'])
  })
})
