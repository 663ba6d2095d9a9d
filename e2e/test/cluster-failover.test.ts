import { spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { assert, suite } from '@steeple/testkit'
import { missingForPatroni } from '../harness/cluster/patroni.ts'

const failover = suite('e2e/cluster-failover', { limitMs: 1_200_000 })

const RUN = join(dirname(fileURLToPath(import.meta.url)), '../harness/cluster/failover-run.ts')
const missing = process.env.SVC_CLUSTER_SOAK === undefined ? 'npm run soak' : missingForPatroni()

if (missing !== undefined) process.stdout.write(`needs ${missing}\n`)
else {
  failover(
    'three instances on three servers with Patroni lose no answered write, whatever dies, freezes or is cut off',
    async () => {
      // Addresses, routes and mounts of the run are its own.
      const child = spawn('unshare', ['--net', '--mount', process.execPath, RUN], { stdio: 'inherit' })
      const code = await new Promise((resolve) => child.on('close', resolve))
      assert.is(code, 0)
    },
  )
}

failover.run()
