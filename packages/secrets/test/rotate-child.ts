import { rotateVault } from '../src/rotate-vault.ts'
import { openBench, SECRETS } from './rotation-bench.ts'

const bench = await openBench(process.argv[2] ?? '')
process.stdout.write('ready\n')
await rotateVault({ ...bench, tables: [SECRETS], settle: async () => undefined })
process.stdout.write('done\n')
await bench.db.close()
