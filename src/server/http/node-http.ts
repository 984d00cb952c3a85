/**
 * Node's HTTP. Importing it reads every export, and one of them (WebSocket) loads Node's whole fetch library with that: a
 * tenth of a start.
 */
export const http = process.getBuiltinModule('node:http')
