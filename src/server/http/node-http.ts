/**
 * Node's HTTP module. An import reads every export, and one of them (WebSocket) loads Node's whole fetch library, which
 * takes a tenth of the start time.
 */
export const http = process.getBuiltinModule('node:http')
