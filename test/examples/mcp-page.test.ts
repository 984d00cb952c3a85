/** examples/mcp/README.md: the tool server of examples/mcp runs what the policy allows, and nothing without a decision. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { toolServer } from '../../examples/mcp/tool-server.ts'
import { AuthzenClient } from '../../packages/client/src/index.ts'
import { startAuthzenServer } from '../client/authzen-server.ts'
import { missingFrom } from '../documented.ts'
import { type PlayedPage, playPage } from '../page.ts'

interface Answer {
  readonly error?: { readonly code: number }
}

describe('examples/mcp/README.md', () => {
  let page: PlayedPage
  before(async () => {
    const ready = 'The tool server listens'
    page = await playPage('examples/mcp/README.md', ['MCP_PORT=3001 npm run example:mcp'], { ready, ports: ['3001'] })
  })
  after(() => page.stop())

  it('has commands that all work, and print what it shows', () => {
    const shown = page.blocks.filter(({ output }) => output.length > 0)
    expect(shown).to.have.length(3)
    for (const { output, printed } of shown) expect(missingFrom(printed, output), printed).to.deep.equal([])
    expect(page.blocks.flatMap(({ printed }) => printed.match(/^failed .*$/gm) ?? [])).to.deep.equal([])
  })

  it('shows members no tool that they may not call, and runs none that destroys', () => {
    const printed = page.blocks.map((block) => block.printed).join('\n')
    expect(printed.match(/"name":"[a-z_]*"/g)).to.deep.equal(['"name":"find_notes"'])
    expect(printed.match(/you may not call this tool/g)).to.have.length(2)
    expect(printed).to.not.contain('deleted')
  })
})

describe('the tool server of examples/mcp', () => {
  it('runs no tool when there is no decision, and asks nothing for nobody', async () => {
    const pdp = await startAuthzenServer()
    const client = new AuthzenClient({ url: pdp.url, timeoutMs: 20_000 })
    const server = toolServer(client).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const token = `e30.${Buffer.from('{"sub":"alice"}').toString('base64url')}.`
    const ask = async (body: unknown, headers: Record<string, string> = { authorization: `Bearer ${token}` }) => {
      const answer = await fetch(`http://127.0.0.1:${port}`, { method: 'POST', headers, body: JSON.stringify(body) })
      const { error } = answer.status === 200 ? ((await answer.json()) as Answer) : { error: undefined }
      return error?.code ?? answer.status
    }
    const call = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'find_notes', arguments: { text: '' } },
    }
    expect(await ask(call, {})).to.equal(401)
    expect(await ask(call, { authorization: 'Bearer nonsense' })).to.equal(401)
    expect(await ask({ ...call, params: { name: 'other' } })).to.equal(-32602)
    expect(await ask({ ...call, method: 'other' })).to.equal(-32601)
    expect(await ask('x'.repeat(200_000))).to.equal(-32600)
    expect(pdp.received).to.deep.equal([])
    // This server knows no tools.
    expect(await ask(call)).to.equal(-32003)
    await pdp.stop()
    expect(await ask(call)).to.equal(-32000)
    client.close()
    server.close()
  })
})
