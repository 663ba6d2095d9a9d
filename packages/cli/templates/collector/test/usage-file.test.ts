import { assert, suite } from '@steeple/testkit'
import { parseUsageFile } from '../src/usage-file.ts'

const usageFile = suite('sample-plugin/usage-file')
const session = {
  id: '1',
  imsi: '999990000000001',
  apn: 'internet',
  address: '10.45.0.2',
  started_at_ms: 5,
  up_bytes: 1,
  down_bytes: 2,
}

usageFile('reads sessions and their counters', () => {
  const { boot, sessions } = parseUsageFile(JSON.stringify({ boot: 'b1', sessions: [session] }))
  assert.is(boot, 'b1')
  assert.equal(sessions, [
    {
      id: '1',
      imsi: session.imsi,
      apn: 'internet',
      address: '10.45.0.2',
      startedAtMs: 5,
      upBytes: 1,
      downBytes: 2,
    },
  ])
})

usageFile('says where a file is broken and never shows an IMSI', () => {
  const texts = [
    `{"boot":"b","sessions":[{"imsi":"${session.imsi}"`,
    JSON.stringify({ boot: 'b', sessions: [{ ...session, up_bytes: -1 }] }),
    JSON.stringify({ boot: 'b', sessions: [{ ...session, imsi: 999990000000001 }] }),
  ]
  const messages = texts.map(messageOf)
  assert.match(messages[0] ?? '', /it is not JSON/)
  assert.match(messages[1] ?? '', /sessions\.0\.up_bytes is no count/)
  assert.match(messages[2] ?? '', /sessions\.0\.imsi is no text/)
  for (const message of messages) assert.not.match(message, session.imsi)
})

function messageOf(text: string): string {
  try {
    parseUsageFile(text)
  } catch (error) {
    return error instanceof Error ? error.message : ''
  }
  return 'it was taken'
}

usageFile.run()
