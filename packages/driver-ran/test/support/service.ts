// A service with an armed radio, as a process of its own: `node service.ts <folder> [block]`.
import { eventually } from '@steeple/testkit'
import { markOf, type ProcessMark } from '../../src/process/proc-fs.ts'
import { type Lab, openLab } from './lab.ts'

const [, , root = '', mode = 'run'] = process.argv
const lab: Lab = await openLab({ root, settings: { ran: { lease: '3s' } } })
lab.gate.arm('mast')
await lab.onAir()
const radio = await eventually((): false | ProcessMark => {
  const { pid = 0 } = lab.supervisor.snapshot()
  return pid === lab.marks.at(-1)?.pid ? false : (markOf(pid) ?? false)
})
process.stdout.write(`on air ${JSON.stringify(radio)}\n`)
if (mode === 'block') {
  // An event loop that does not turn any more.
  for (;;) Math.random()
}
