import { join } from 'node:path'
import { containerEngine } from '@steeple/lab-core'
import { assert, runTool, suite, tempDir } from '@steeple/testkit'
import { attachTeller, daemonLogs } from '../../src/logs/daemon-logs.ts'

const log = suite('southbound/daemon-logs')
const never = new AbortController().signal

log('waits for no pipe where a log should be, and says that it is one', async () => {
  await using folder = await tempDir()
  runTool('mkfifo', join(folder.path, 'mme.log'))
  const logs = daemonLogs(containerEngine([]), () => ({ folder: folder.path, runners: {} }), '')
  const tail = await logs.tail('mme', never)
  assert.match('problem' in tail ? tail.problem : '', /mme[.]log: it is a pipe, a device/)
})

log('reads on from the position of an only writer, as an earlier release kept it', async () => {
  const asked: (string | undefined)[] = []
  const teller = attachTeller(
    {
      tail: async () => ({ text: '' }),
      newLines: async (_daemon, position) => {
        asked.push(position)
        return { lines: [], position: 'next', isWhole: true }
      },
    },
    { writers: () => ['amf'], tells: () => false, attachesIn: () => [] },
  )
  const told = await teller(JSON.stringify({ to: 'there', tells: true }), never)
  assert.is(told?.isTelling, true)
  await teller(told?.position, never)
  assert.equal(asked, ['there', 'next'])
  for (const text of ['', '7', '{"amf":{"to":1}}', 'null']) await teller(text, never)
  assert.equal(asked.slice(2), [undefined, undefined, undefined, undefined])
})

log.run()
