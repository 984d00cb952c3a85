/** How long a session lasts, in milliseconds. */

const DAY_MS = 24 * 60 * 60_000

/** However often it is refreshed. */
export const SESSION_MS = 30 * DAY_MS
/** Without being refreshed. */
export const IDLE_MS = 14 * DAY_MS
