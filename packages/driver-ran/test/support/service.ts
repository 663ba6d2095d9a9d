// A service with an armed radio, as a process of its own: `node service.ts <folder> [block]`.
import { type Lab, openLab } from './lab.ts'

const [, , root = '', mode = 'run'] = process.argv
const lab: Lab = await openLab({ root })
lab.gate.arm('mast')
await lab.onAir()
process.stdout.write(`on air ${lab.supervisor.snapshot().pid}\n`)
if (mode === 'block') {
  // An event loop that does not turn any more.
  for (;;) Math.random()
}
