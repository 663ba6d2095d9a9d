import { appendFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Settings } from '@steeple/contracts'
import { type Engine, registrationReader, registrationWatch } from '@steeple/southbound'
import { assert, fakeClock, suite, tempDir } from '@steeple/testkit'
import { coreLogs } from '../../src/diagnose/diagnose.ts'
import { saidOf } from '../../src/diagnose/refusals.ts'

/** Whether the core lets phones on, by what its MME writes (recorded of Open5GS 2.7). */
const registration = suite('driver-core-a/registration-watch')

const refusal = (imsi: string): string =>
  `11/21 21:30:10.905: [mme] INFO: [${imsi}] Attach reject [OGS_NAS_EMM_CAUSE:8] (../src/mme/mme-sm.c:607)\n`
const success = (imsi: string): string =>
  `11/21 21:31:10.905: [emm] INFO:     IMSI[${imsi}] (../src/mme/emm-sm.c:1)\n11/21 21:31:10.905: [mme] INFO: [${imsi}] Attach complete (../src/mme/emm-sm.c:1384)\n`

async function watched() {
  const temp = await tempDir()
  const log = join(temp.path, 'mme.log')
  await writeFile(log, refusal('999700000000009').repeat(9))
  const clock = fakeClock()
  const settings = { core_a: { log_dir: temp.path, containers: {} }, southbound: { driver: 'none' } }
  const logs = coreLogs({} as Engine, () => settings as unknown as Pick<Settings, 'core_a' | 'southbound'>)
  const reader = registrationReader(
    logs,
    () => ['mme'],
    (lines) => lines.flatMap((line) => saidOf(line) ?? []),
  )
  const watch = registrationWatch(clock, reader)
  const look = async (lines = ''): Promise<string> => {
    await appendFile(log, lines)
    await clock.advance(10_000)
    await watch.look(new AbortController().signal)
    return watch.health().status
  }
  await watch.look(new AbortController().signal)
  return { temp, clock, watch, look }
}

registration(
  'says that phones are refused when several are and none gets on, and names none of them',
  async () => {
    const { temp, clock, watch, look } = await watched()
    await using _ = temp
    assert.is(await look(refusal('999700000000001').repeat(5)), 'ok', 'one phone that tries again and again')
    assert.is(await look(refusal('999700000000002') + refusal('999700000000003')), 'degraded')
    const { detail, incident } = watch.health()
    assert.match(
      detail,
      /^3 phones were refused .* most: the HSS did not know it, or did not answer \(cause 8\)$/,
    )
    assert.is(incident, 'no_registration')
    assert.not.match(detail, /99970/)
    await clock.advance(6 * 60_000)
    assert.is(await look(), 'ok', 'nobody tries any more')
  },
)

registration('is well while phones get on beside those that are refused', async () => {
  const { temp, look } = await watched()
  await using _ = temp
  const three = ['1', '2', '3'].map((digit) => refusal(`99970000000000${digit}`)).join('')
  assert.is(await look(three + success('999700000000004')), 'ok')
})

registration(
  'does not count what was written before it looked, and bears a log that is not there',
  async () => {
    const { temp, watch } = await watched()
    await temp[Symbol.asyncDispose]()
    await watch.look(new AbortController().signal)
    assert.is(watch.health().status, 'ok')
  },
)

registration.run()
