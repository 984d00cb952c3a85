/** What this package gives. The middleware is in `@sallyport/client/koa`, `/express` and `/fastify`. */
export { AuthzenClient, type BatchCall, type SearchCall } from './client.ts'
export type * from './entities.ts'
export { AuthzenError, type ErrorCode } from './error.ts'
export type {
  Filter,
  FilterOptions,
  FilterQuery,
  SqlColumn,
  SqlCondition,
  SqlOptions,
  SqlTable,
  Ucast,
} from './filter.ts'
export type { BatchOptions, CacheOptions, ClientOptions } from './options.ts'
export type { CallOptions } from './transport/caller.ts'
