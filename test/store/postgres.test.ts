import { storeContract } from './contract.ts'
import { createSchema } from './postgres-schemas.ts'

storeContract({ name: 'PostgreSQL', keeps: 'shared', share: 0.1, create: createSchema })
