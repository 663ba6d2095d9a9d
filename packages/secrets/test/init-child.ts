import { initNode } from '../src/renew-certificate.ts'

await initNode({
  dataDir: process.argv[2] ?? '',
  clock: { nowMs: () => Date.now(), monotonicMs: () => performance.now() },
})
