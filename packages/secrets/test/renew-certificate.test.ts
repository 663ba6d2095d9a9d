import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fakeClock, suite, type TempDir, tempDir } from '@steeple/testkit'
import * as assert from 'uvu/assert'
import { openSecrets } from '../src/open-secrets.ts'
import { initNode, isRenewalDue, renewNodeCertificate } from '../src/renew-certificate.ts'
import { withFrozenDisk } from './frozen-disk.ts'

const DAY_MS = 86_400_000
const renewal = suite('secrets/renew-certificate')
let root: TempDir
renewal.before(async () => {
  root = await tempDir()
})
renewal.after(() => root.remove())

renewal('waits for half of the life of the certificate, then renews it under the same key', async () => {
  const clock = fakeClock()
  const dataDir = join(root.path, 'a')
  const { secrets } = await initNode({ dataDir, clock })
  const before = secrets.certificate()
  await clock.advance(14 * DAY_MS)
  assert.is(await renewNodeCertificate(secrets, clock), false)
  await clock.advance(2 * DAY_MS)
  assert.is(await renewNodeCertificate(secrets, clock), true)
  assert.is(secrets.identity.certificateExpiresAtMs, clock.nowMs() + 30 * DAY_MS)
  const after = secrets.certificate()
  assert.is.not(after.serialNumber, before.serialNumber)
  assert.is(after.subjectAltName, before.subjectAltName)
  assert.ok(after.publicKey.equals(before.publicKey))
  assert.is(secrets.tls().cert, readFileSync(join(dataDir, 'keys', 'node.pem'), 'utf8'))
  assert.is(openSecrets(dataDir).certificate().serialNumber, after.serialNumber)
  assert.is(await renewNodeCertificate(secrets, clock), false)
})

renewal('renews a certificate from the future, as a clock that was wrong leaves it', async () => {
  const clock = fakeClock()
  const { secrets } = await initNode({ dataDir: join(root.path, 'b'), clock })
  clock.jump(clock.nowMs() - 26 * 3_600_000)
  assert.is(isRenewalDue(secrets, clock.nowMs()), true)
})

renewal('gives no certificate a life beyond that of the root', async () => {
  const clock = fakeClock()
  const { secrets } = await initNode({ dataDir: join(root.path, 'c'), clock })
  clock.jump(clock.nowMs() + 3_650 * DAY_MS)
  assert.is(await renewNodeCertificate(secrets, clock), true)
  const lifeLeftMs = secrets.identity.certificateExpiresAtMs - clock.nowMs()
  assert.ok(lifeLeftMs > 0 && lifeLeftMs <= 4 * DAY_MS)
})

renewal('leaves the old certificate or the new one after a kill at any point', async () => {
  const clock = fakeClock()
  const dataDir = join(root.path, 'd')
  await initNode({ dataDir, clock })
  await clock.advance(16 * DAY_MS)
  for (let points = 0; ; points++) {
    const { isFrozen } = await withFrozenDisk(points, () => renewNodeCertificate(openSecrets(dataDir), clock))
    openSecrets(dataDir)
    if (!isFrozen) break
  }
  assert.is(isRenewalDue(openSecrets(dataDir), clock.nowMs()), false)
})

renewal.run()
