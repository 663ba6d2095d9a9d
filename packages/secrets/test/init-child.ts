import { initNode } from '../src/init-node.ts'

await initNode({
  dataDir: process.argv[2] ?? '',
  clock: { nowMs: () => Date.now(), monotonicMs: () => performance.now() },
})
