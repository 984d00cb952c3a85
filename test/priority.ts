/**
 * Tests have the priority of a question to a server: at a higher one, it would get next to no time beside the tests
 * that run at once, and take longer than it may.
 */
import { getPriority, setPriority } from 'node:os'

const NICENESS = 10

if (getPriority() < NICENESS) setPriority(NICENESS)
