// node:http and a constant body: the limit of the runtime. Plain JavaScript, so that nothing has to be stripped at its start.
import { createServer } from 'node:http'

const body = process.env.BODY
createServer((_request, response) => {
  response.setHeader('content-type', 'application/json')
  response.end(body)
}).listen(Number(process.env.PORT), '127.0.0.1')
