import { appendFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Settings } from '@steeple/contracts'
import { containerEngine } from '@steeple/lab-core'
import { attachTeller } from '@steeple/southbound'
import { assert, suite, tempDir } from '@steeple/testkit'
import { attachWords, coreLogs } from '../../src/diagnose/diagnose.ts'
import type { Daemon } from '../../src/render/roles.ts'

const attaches = suite('driver-core-a/attaches')
const never = new AbortController().signal
const FIRST = '999707364000060'
const SECOND = '999707364000061'
const complete = (imsi: string): string =>
  `11/21 21:31:48.069: [mme] INFO: [${imsi}] Attach complete (../src/mme/emm-sm.c:1603)\n`

function teller(folder: string, writers: readonly Daemon[] = ['mme']) {
  const settings = {
    core_a: { log_dir: folder, containers: {} },
    southbound: { driver: 'file' },
  } as unknown as Pick<Settings, 'core_a' | 'southbound'>
  return attachTeller(
    coreLogs(containerEngine([]), () => settings),
    attachWords(() => writers),
  )
}

attaches('tells of each attach once, two of one phone as two, over a rotation', async () => {
  await using folder = await tempDir()
  const log = join(folder.path, 'mme.log')
  await writeFile(log, complete(FIRST))
  const tell = teller(folder.path)
  const begun = await tell(undefined, never)
  assert.equal(begun?.imsis, [])
  await appendFile(log, complete(FIRST) + complete(SECOND))
  await appendFile(log, `11/21 21:31:49.069: [emm] ERROR: [${FIRST}] Attach complete in INVALID-STATE\n`)
  await rename(log, `${log}.1`)
  await appendFile(`${log}.1`, complete(FIRST))
  await writeFile(
    log,
    `\u001b[32m11/21 21:31:50.069\u001b[0m: [\u001b[33mmme\u001b[0m] \u001b[1;32mINFO\u001b[0m: [${SECOND}] Attach complete (x.c:1)\n`,
  )
  const told = await tell(begun?.position, never)
  assert.equal([told?.imsis, told?.isWhole], [[FIRST, SECOND, FIRST, SECOND], true])
  assert.equal((await tell(told?.position, never))?.imsis, [])
  assert.not.match(told?.position ?? '', FIRST)
})

attaches('tells of registrations beside attaches where the core serves both', async () => {
  await using folder = await tempDir()
  await writeFile(join(folder.path, 'mme.log'), complete(FIRST))
  const amf = join(folder.path, 'amf.log')
  await writeFile(amf, '11/21 21:31:48.069: [amf] INFO: AMF initialize...done\n')
  const tell = teller(folder.path, ['mme', 'amf'])
  const begun = await tell(undefined, never)
  await appendFile(
    amf,
    `11/21 21:31:48.069: [gmm] INFO: [imsi-${SECOND}] Registration complete (../src/amf/gmm-sm.c:3165)\n`,
  )
  assert.equal((await tell(begun?.position, never))?.imsis, [SECOND])
})

attaches('does not tell where nothing is known of the log, or it says of failures alone', async () => {
  await using folder = await tempDir()
  assert.is(await teller('')(undefined, never), undefined)
  assert.is((await teller(folder.path)(undefined, never))?.isTelling, false)
  const log = join(folder.path, 'mme.log')
  await writeFile(log, '11/21 21:31:48.069: [emm] WARNING: Attach reject\n')
  const tell = teller(folder.path)
  const begun = await tell(undefined, never)
  assert.is(begun?.isTelling, false)
  // The first line of that level is of an attach: it counts.
  await appendFile(log, complete(FIRST))
  const told = await tell(begun?.position, never)
  assert.equal([told?.isTelling, told?.imsis], [true, [FIRST]])
})

attaches('says that it cannot be asked now while a log that it has read is away', async () => {
  await using folder = await tempDir()
  const log = join(folder.path, 'mme.log')
  await writeFile(log, complete(FIRST))
  const tell = teller(folder.path)
  const begun = await tell(undefined, never)
  await rename(log, join(folder.path, 'elsewhere'))
  const away = await tell(begun?.position, never)
  assert.equal([away?.imsis, away?.position], [[], begun?.position])
  await rename(join(folder.path, 'elsewhere'), log)
  await appendFile(log, complete(SECOND))
  assert.equal((await tell(away?.position, never))?.imsis, [SECOND])
})

attaches.run()
