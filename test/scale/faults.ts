/** The faults of the suite, as docs/instances.md names them (runbook.test.ts). */
export const FAULTS = [
  'nothing',
  'an instance is killed',
  'a rolling restart',
  'clocks an hour apart',
  'PostgreSQL is killed, and started again after 2 s',
  'PostgreSQL is lost, and the replica is promoted after 1 s',
  'the connections of one instance stall for 5 s',
  'the connections of one instance are cut 20 times in 3 s',
  'one instance gets no answers of PostgreSQL for 3 s',
  'each message of one instance takes 100 ms longer',
  'the disk of PostgreSQL is full for 8 s',
  'Redis is killed, and started again after 3 s',
] as const

/** The others are several faults in one run. */
export type FaultName =
  | (typeof FAULTS)[number]
  | 'several faults in one run'
  | 'the primary of Patroni is lost or hangs, twice'
  | 'the primary of Patroni is lost or hangs, ten times'
