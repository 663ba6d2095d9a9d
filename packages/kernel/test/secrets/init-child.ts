import { systemClock } from '../../src/clock.ts'
import { initNode } from '../../src/secrets/init-node.ts'

await initNode({ dataDir: process.argv[2] ?? '', clock: systemClock() })
